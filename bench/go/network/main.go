// Command network is the operator of examples/network, written with controller-runtime as kubebuilder begins one: to
// compare lines, and to run. NEUTRON_URL says where the provider is, KUBECONFIG where the cluster is.
package main

import (
	"cmp"
	"os"

	"bench/network/api"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(zap.New())
	log := ctrl.Log.WithName("setup")
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	api.AddToScheme(scheme)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: cmp.Or(os.Getenv("METRICS_ADDRESS"), ":8080")},
	})
	if err != nil {
		log.Error(err, "there is no manager")
		os.Exit(1)
	}
	reconciler := &NetworkReconciler{
		Client:   manager.GetClient(),
		Recorder: manager.GetEventRecorderFor("network"),
		Provider: newProvider(cmp.Or(os.Getenv("NEUTRON_URL"), "http://neutron:9696")),
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		log.Error(err, "the controller cannot be set up")
		os.Exit(1)
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Error(err, "the manager ended")
		os.Exit(1)
	}
}
