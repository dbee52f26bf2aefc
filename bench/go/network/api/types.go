// Package api is the kind of examples/network; its deep copies are made by controller-gen.
// +kubebuilder:object:generate=true
// +groupName=samplecrd.k8s.io
package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "samplecrd.k8s.io", Version: "v1"}

// AddToScheme makes the kind known to clients.
func AddToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Network{}, &NetworkList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// NetworkSpec is what a user asks for.
// +kubebuilder:validation:XValidation:rule="isCIDR(self.cidr)",message="cidr must be a valid CIDR"
// +kubebuilder:validation:XValidation:rule="isIP(self.gateway)",message="gateway must be an IP"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.cidr) || !isIP(self.gateway) || cidr(self.cidr).containsIP(self.gateway)",message="gateway must lie inside cidr"
// +kubebuilder:validation:XValidation:rule="self.cidr == oldSelf.cidr",message="cidr is immutable"
type NetworkSpec struct {
	// +kubebuilder:validation:MaxLength=43
	CIDR string `json:"cidr"`
	// +kubebuilder:validation:MaxLength=39
	Gateway string `json:"gateway"`
}

// NetworkStatus is what the operator saw.
type NetworkStatus struct {
	ProviderID         string             `json:"providerID,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Network is a network of the provider.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, experimental-only"
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NetworkSpec   `json:"spec"`
	Status NetworkStatus `json:"status,omitempty"`
}

// NetworkList is a list of them.
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Network `json:"items"`
}
