"""Which strategy each built-in kind has."""

from steersman.apiserver.builtin import builtin_resources
from steersman.apiserver.strategies.base import BuiltinStrategy
from steersman.apiserver.strategies.definition import DefinitionStrategy
from steersman.apiserver.strategies.namespace import NamespaceStrategy
from steersman.objects.identity import GroupVersionKind

#: Kinds that count generations.
_COUNTED = frozenset(
    {
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    }
)
_OWN: dict[tuple[str, str], type[BuiltinStrategy]] = {
    ("", "Namespace"): NamespaceStrategy,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): DefinitionStrategy,
}


class Strategies:
    """Makes and keeps the strategies of one server."""

    def __init__(self) -> None:
        self._made: dict[GroupVersionKind, BuiltinStrategy] = {}
        for resource, _, parts in builtin_resources():
            key = (resource.gvk.group, resource.gvk.kind)
            kind = _OWN.get(key, BuiltinStrategy)
            self._made[resource.gvk] = kind(
                resource.gvk, namespaced=resource.namespaced, has_status="status" in parts, counts=key in _COUNTED
            )

    def strategy_for(self, gvk: GroupVersionKind) -> BuiltinStrategy:
        """Give the strategy of a kind."""
        return self._made[gvk]

    @property
    def definitions(self) -> DefinitionStrategy:
        """The strategy of custom resource definitions."""
        strategy = self._made[GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")]
        assert isinstance(strategy, DefinitionStrategy)  # noqa: S101 - the table above says so
        return strategy
