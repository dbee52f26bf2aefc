// Command reconcile measures a client-go controller: an informer, a work queue, workers that patch one status each.
//
//	reconcile KUBECONFIG OBJECTS WORKERS
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"bench/widget"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type controller struct {
	client rest.Interface
	store  cache.Store
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	wanted int64
	count  atomic.Int64
	done   chan struct{}
}

func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	cached, exists, err := c.store.GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	object := cached.(*widget.Widget)
	if object.Status.ObservedGeneration == object.Generation {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": widget.Status{
		ObservedGeneration: object.Generation, Ready: object.Spec.Replicas, Phase: "Ready"}})
	if err != nil {
		return err
	}
	result := new(widget.Widget)
	err = c.client.Patch(types.MergePatchType).Namespace(key.Namespace).Resource("widgets").Name(key.Name).
		SubResource("status").Body(patch).Do(ctx).Into(result)
	if err == nil && c.count.Add(1) == c.wanted {
		close(c.done)
	}
	return err
}

func (c *controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			log.Print(err)
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: reconcile KUBECONFIG OBJECTS WORKERS")
	}
	objects, _ := strconv.Atoi(os.Args[2])
	workers, _ := strconv.Atoi(os.Args[3])
	client, err := widget.NewClient(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	begun, cpu := time.Now(), widget.CPU()
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client, "widgets", metav1.NamespaceAll, fields.Everything()),
		&widget.Widget{}, 0, cache.Indexers{})
	c := &controller{
		client: client,
		store:  informer.GetStore(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
		wanted: int64(objects),
		done:   make(chan struct{}),
	}
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.queue.Add(key)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: enqueue,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		log.Fatal("never synced")
	}
	for range workers {
		go c.work(ctx)
	}
	<-c.done
	widget.Report(begun, cpu, objects)
}
