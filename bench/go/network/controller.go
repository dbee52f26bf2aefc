package main

import (
	"context"
	"errors"
	"time"

	"bench/network/api"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	finalizer = "samplecrd.k8s.io/network"
	// driftCheck is how long it takes until we look whether the provider still has what it should.
	driftCheck = 5 * time.Minute
)

// NetworkReconciler lets the provider have exactly one network that is like the object, for as long as that is there.
type NetworkReconciler struct {
	client.Client
	Recorder record.EventRecorder
	Provider *provider
}

// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Reconcile makes the provider's network as the object says.
func (r *NetworkReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	network := new(api.Network)
	if err := r.Get(ctx, request.NamespacedName, network); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !network.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.cleanUp(ctx, network)
	}
	// It must be there before the provider is asked for the first time.
	if controllerutil.AddFinalizer(network, finalizer) {
		if err := r.Update(ctx, network); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := network.DeepCopy()
	result, failure := r.provision(ctx, network)
	network.Status.ObservedGeneration = network.Generation
	if !equality.Semantic.DeepEqual(before.Status, network.Status) {
		if err := r.Status().Patch(ctx, network, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, errors.Join(failure, err)
		}
	}
	return result, failure
}

func (r *NetworkReconciler) provision(ctx context.Context, network *api.Network) (ctrl.Result, error) {
	found, err := r.ensure(ctx, network)
	switch {
	case errors.Is(err, errRejected):
		r.Recorder.Event(network, corev1.EventTypeWarning, "Rejected", err.Error())
		setCondition(network, "Ready", metav1.ConditionFalse, "Rejected", err.Error())
		// Final until somebody changes the object.
		return ctrl.Result{}, nil
	case err != nil:
		r.Recorder.Event(network, corev1.EventTypeWarning, "ProviderError", err.Error())
		setCondition(network, "Synced", metav1.ConditionFalse, "ProviderError", err.Error())
		return ctrl.Result{}, err
	}
	network.Status.ProviderID = found.ID
	setCondition(network, "Synced", metav1.ConditionTrue, "UpToDate", "")
	setCondition(network, "Ready", metav1.ConditionTrue, "Provisioned", "")
	return ctrl.Result{RequeueAfter: driftCheck}, nil
}

func (r *NetworkReconciler) ensure(ctx context.Context, network *api.Network) (*provided, error) {
	want := wanted{UID: string(network.UID), CIDR: network.Spec.CIDR, Gateway: network.Spec.Gateway}
	found, err := r.Provider.find(ctx, want.UID)
	if err != nil {
		return nil, err
	}
	if found == nil {
		if found, err = r.Provider.create(ctx, want); err != nil {
			return nil, err
		}
		r.Recorder.Eventf(network, corev1.EventTypeNormal, "Provisioned", "network %s has %s", found.ID, found.CIDR)
	} else if found.CIDR != want.CIDR || found.Gateway != want.Gateway {
		if found, err = r.Provider.update(ctx, found.ID, want); err != nil {
			return nil, err
		}
		r.Recorder.Eventf(network, corev1.EventTypeNormal, "Updated",
			"network %s has %s, gateway %s", found.ID, found.CIDR, found.Gateway)
	}
	return found, nil
}

// cleanUp deletes the provider's network, found by the uid: the status may never have been written.
func (r *NetworkReconciler) cleanUp(ctx context.Context, network *api.Network) error {
	if !controllerutil.ContainsFinalizer(network, finalizer) {
		return nil
	}
	found, err := r.Provider.find(ctx, string(network.UID))
	if err == nil && found != nil {
		err = r.Provider.delete(ctx, found.ID)
	}
	if err != nil {
		r.Recorder.Event(network, corev1.EventTypeWarning, "ProviderError", err.Error())
		return err
	}
	if found != nil {
		r.Recorder.Eventf(network, corev1.EventTypeNormal, "Deleted", "network %s is gone", found.ID)
	}
	controllerutil.RemoveFinalizer(network, finalizer)
	return client.IgnoreNotFound(r.Update(ctx, network))
}

func setCondition(network *api.Network, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&network.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: network.Generation,
	})
}

// SetupWithManager registers the reconciler: a status that it writes itself does not wake it.
func (r *NetworkReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&api.Network{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}
