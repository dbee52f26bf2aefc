// Command informer measures client-go's shared informer: the cold sync of all widgets, what they take once the garbage is
// gone, then the ingest of updates.
//
//	informer KUBECONFIG OBJECTS UPDATES
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"bench/widget"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: informer KUBECONFIG OBJECTS UPDATES")
	}
	objects, _ := strconv.Atoi(os.Args[2])
	updates, _ := strconv.Atoi(os.Args[3])
	client, err := widget.NewClient(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	before := widget.Resident()
	begun, cpu := time.Now(), widget.CPU()
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client, "widgets", metav1.NamespaceAll, fields.Everything()),
		&widget.Widget{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	var seen atomic.Int64
	done := make(chan struct{})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) {
			if seen.Add(1) == int64(updates) {
				close(done)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		log.Fatal("never synced")
	}
	if got := len(informer.GetStore().ListKeys()); got != objects {
		log.Fatalf("synced %d objects, not %d", got, objects)
	}
	widget.Report(begun, cpu, objects)
	if updates == 0 {
		return
	}
	fmt.Printf("{\"cached_mib\": %.2f}\n", widget.Resident()-before)
	begun, cpu = time.Now(), widget.CPU()
	<-done
	widget.Report(begun, cpu, updates)
}
