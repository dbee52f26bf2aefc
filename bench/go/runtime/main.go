// Command runtime measures a controller-runtime operator: a manager, one controller, one status patch an object.
//
//	runtime KUBECONFIG OBJECTS WORKERS
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"bench/widget"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct {
	client.Client
	wanted int64
	count  atomic.Int64
	done   chan struct{}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := new(widget.Widget)
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if object.Status.ObservedGeneration == object.Generation {
		return ctrl.Result{}, nil
	}
	before := object.DeepCopyObject().(*widget.Widget)
	object.Status = widget.Status{ObservedGeneration: object.Generation, Ready: object.Spec.Replicas, Phase: "Ready"}
	if err := r.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, err
	}
	if r.count.Add(1) == r.wanted {
		close(r.done)
	}
	return ctrl.Result{}, nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: runtime KUBECONFIG OBJECTS WORKERS")
	}
	objects, _ := strconv.Atoi(os.Args[2])
	workers, _ := strconv.Atoi(os.Args[3])
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(widget.GroupVersion, &widget.Widget{}, &widget.WidgetList{})
	metav1.AddToGroupVersion(scheme, widget.GroupVersion)
	begun, cpu := time.Now(), widget.CPU()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		log.Fatal(err)
	}
	r := &reconciler{Client: manager.GetClient(), wanted: int64(objects), done: make(chan struct{})}
	err = ctrl.NewControllerManagedBy(manager).For(&widget.Widget{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(r)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := manager.Start(context.Background()); err != nil {
			log.Fatal(err)
		}
	}()
	<-r.done
	widget.Report(begun, cpu, objects)
}
