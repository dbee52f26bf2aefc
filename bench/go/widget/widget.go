// Package widget is the custom resource that all benchmarks use, as a typed Go kind.
package widget

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var GroupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

type Port struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}

type Spec struct {
	Color    string            `json:"color"`
	Replicas int32             `json:"replicas"`
	Settings map[string]string `json:"settings,omitempty"`
	Ports    []Port            `json:"ports,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
}

type Status struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Ready              int32  `json:"ready,omitempty"`
	Phase              string `json:"phase,omitempty"`
}

type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

func (in *Widget) DeepCopyInto(out *Widget) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Spec.Settings != nil {
		out.Spec.Settings = make(map[string]string, len(in.Spec.Settings))
		for key, value := range in.Spec.Settings {
			out.Spec.Settings[key] = value
		}
	}
	out.Spec.Ports = append([]Port(nil), in.Spec.Ports...)
	out.Spec.Notes = append([]string(nil), in.Spec.Notes...)
}

func (in *Widget) DeepCopyObject() runtime.Object {
	out := new(Widget)
	in.DeepCopyInto(out)
	return out
}

func (in *WidgetList) DeepCopyObject() runtime.Object {
	out := &WidgetList{TypeMeta: in.TypeMeta, ListMeta: in.ListMeta, Items: make([]Widget, len(in.Items))}
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}

// NewClient gives a REST client for widgets, set up as client-gen would, without client-side rate limits.
func NewClient(kubeconfig string) (rest.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(GroupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	config.GroupVersion = &GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS = -1
	return rest.RESTClientFor(config)
}
