"""Which strategy each built-in kind has."""

from collections.abc import Callable, Mapping

from steersman.apiserver.builtin.strategies import kinds, workloads
from steersman.apiserver.builtin.strategies.as_given import NetworkPolicyStrategy, WebhookConfigurationStrategy
from steersman.apiserver.builtin.strategies.base import BuiltinStrategy
from steersman.apiserver.builtin.strategies.namespace import NamespaceStrategy
from steersman.apiserver.builtin.strategies.pod import PodStrategy
from steersman.apiserver.builtin.strategies.service import ServiceStrategy
from steersman.apiserver.builtin.strategies.service_allocation import ServiceAllocation
from steersman.apiserver.builtin.strategies.signing_request import SigningRequestStrategy
from steersman.apiserver.builtin.table import builtin_resources
from steersman.apiserver.resources.object_store import Ledger
from steersman.objects.identity import GroupVersionKind

#: A group and a kind.
GroupKind = tuple[str, str]
StrategyFactory = Callable[..., BuiltinStrategy]

_RBAC = "rbac.authorization.k8s.io"
#: Kinds that count generations.
_COUNTED = frozenset(
    {
        ("", "Pod"),
        ("", "PodTemplate"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceSlice"),
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
    ("", "Pod"): PodStrategy,
    ("", "Service"): ServiceStrategy,
    ("", "ConfigMap"): kinds.DataStrategy,
    ("", "Secret"): kinds.SecretStrategy,
    ("", "PersistentVolumeClaim"): kinds.ClaimStrategy,
    ("", "PersistentVolume"): kinds.VolumeStrategy,
    ("", "ServiceAccount"): kinds.AnsweringWithObject,
    ("", "ResourceQuota"): kinds.AnsweringWithObject,
    ("", "PodTemplate"): kinds.AnsweringWithObject,
    ("", "Node"): kinds.NodeStrategy,
    ("", "Endpoints"): kinds.CreatedOnUpdate,
    ("", "LimitRange"): kinds.CreatedOnUpdate,
    ("", "ReplicationController"): workloads.ReplicationControllerStrategy,
    ("apps", "StatefulSet"): workloads.StatefulSetStrategy,
    ("apps", "Deployment"): workloads.DeploymentStrategy,
    ("discovery.k8s.io", "EndpointSlice"): kinds.SliceStrategy,
    ("scheduling.k8s.io", "PriorityClass"): kinds.NeverCounting,
    ("apps", "DaemonSet"): workloads.DaemonSetStrategy,
    ("certificates.k8s.io", "CertificateSigningRequest"): SigningRequestStrategy,
    ("batch", "Job"): workloads.JobStrategy,
    ("resource.k8s.io", "ResourceSlice"): kinds.DeviceSliceStrategy,
    ("storage.k8s.io", "StorageClass"): kinds.AnsweringWithObject,
    ("storage.k8s.io", "VolumeAttachment"): kinds.OnlyStatus,
    ("storage.k8s.io", "VolumeAttributesClass"): kinds.ProtectedClass,
    ("coordination.k8s.io", "Lease"): kinds.LeaseStrategy,
    ("policy", "PodDisruptionBudget"): kinds.BudgetStrategy,
    ("", "Event"): kinds.EventStrategy,
    ("events.k8s.io", "Event"): kinds.NewEventStrategy,
    ("autoscaling", "HorizontalPodAutoscaler"): kinds.AutoscalerStrategy,
    (_RBAC, "Role"): kinds.UrlNamed,
    (_RBAC, "RoleBinding"): kinds.UrlNamed,
    (_RBAC, "ClusterRole"): kinds.UrlNamed,
    (_RBAC, "ClusterRoleBinding"): kinds.UrlNamed,
    ("networking.k8s.io", "NetworkPolicy"): NetworkPolicyStrategy,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): WebhookConfigurationStrategy,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): WebhookConfigurationStrategy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): kinds.OnlyStatus,
    ("apiregistration.k8s.io", "APIService"): kinds.OnlyStatus,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): kinds.OnlyStatus,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): kinds.OnlyStatus,
    ("networking.k8s.io", "ServiceCIDR"): kinds.OnlyStatus,
}


class Strategies:
    """The strategies of one server.

    ``others`` are the strategies of kinds that belong to other rooms: CustomResourceDefinitions.
    """

    def __init__(self, ledger: Ledger, others: Mapping[GroupKind, StrategyFactory]) -> None:
        self._made: dict[GroupVersionKind, BuiltinStrategy] = {}
        for resource, _, parts in builtin_resources():
            key = (resource.gvk.group, resource.gvk.kind)
            kind: StrategyFactory = others.get(key) or _OWN.get(key, BuiltinStrategy)
            self._made[resource.gvk] = kind(
                resource.gvk, namespaced=resource.namespaced, has_status="status" in parts, counts=key in _COUNTED
            )
        for strategy in self._made.values():
            if isinstance(strategy, (PodStrategy, kinds.ClaimStrategy)):
                strategy.ledger = ledger
            if isinstance(strategy, ServiceStrategy):
                strategy.allocation = ServiceAllocation(ledger)

    def strategy_for(self, gvk: GroupVersionKind) -> BuiltinStrategy:
        """Give the strategy of a kind."""
        return self._made[gvk]
