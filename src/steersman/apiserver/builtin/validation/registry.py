"""Which kind is checked by what. The rules of a kind are loaded when its first object is written."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from steersman.objects.identity import GroupVersionKind
from steersman.validation.field_errors import FieldError

Document = dict[str, Any]
Check = Callable[[Document, Document | None, str], list[FieldError]]

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_NETWORKING = "networking.k8s.io"
#: Kind → module and function. A kind that is not here has no rules beyond those of its metadata.
CHECKS: dict[tuple[str, str], tuple[str, str]] = {
    ("", "Pod"): ("pod_changes", "pod_errors"),
    ("", "PodTemplate"): ("pods", "pod_template_errors"),
    ("", "ReplicationController"): ("workloads", "replication_controller_errors"),
    ("", "Service"): ("services", "service_errors"),
    ("", "Endpoints"): ("endpoints", "endpoints_errors"),
    ("", "Event"): ("coordination", "core_event_errors"),
    ("", "LimitRange"): ("quotas", "limit_range_errors"),
    ("", "ResourceQuota"): ("quotas", "quota_errors"),
    ("", "PersistentVolume"): ("storage", "volume_errors"),
    ("", "PersistentVolumeClaim"): ("storage", "claim_errors"),
    ("", "Node"): ("cluster", "node_errors"),
    ("apps", "Deployment"): ("workloads", "deployment_errors"),
    ("apps", "ReplicaSet"): ("workloads", "replica_set_errors"),
    ("apps", "StatefulSet"): ("workloads", "stateful_set_errors"),
    ("apps", "DaemonSet"): ("workloads", "daemon_set_errors"),
    ("apps", "ControllerRevision"): ("workloads", "controller_revision_errors"),
    ("batch", "Job"): ("jobs", "job_errors"),
    ("batch", "CronJob"): ("jobs", "cron_job_errors"),
    ("autoscaling", "HorizontalPodAutoscaler"): ("autoscaling", "autoscaler_errors"),
    ("policy", "PodDisruptionBudget"): ("autoscaling", "budget_errors"),
    (_NETWORKING, "Ingress"): ("networking", "ingress_errors"),
    (_NETWORKING, "IngressClass"): ("networking", "ingress_class_errors"),
    (_NETWORKING, "NetworkPolicy"): ("networking", "network_policy_errors"),
    (_NETWORKING, "ServiceCIDR"): ("networking", "service_cidr_errors"),
    ("discovery.k8s.io", "EndpointSlice"): ("endpoints", "endpoint_slice_errors"),
    ("storage.k8s.io", "StorageClass"): ("storage", "storage_class_errors"),
    ("scheduling.k8s.io", "PriorityClass"): ("cluster", "priority_class_errors"),
    ("node.k8s.io", "RuntimeClass"): ("cluster", "runtime_class_errors"),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("cluster", "signing_request_errors"),
    ("coordination.k8s.io", "Lease"): ("coordination", "lease_errors"),
    ("events.k8s.io", "Event"): ("coordination", "new_event_errors"),
    (_RBAC, "Role"): ("rbac", "role_errors"),
    (_RBAC, "ClusterRole"): ("rbac", "cluster_role_errors"),
    (_RBAC, "RoleBinding"): ("rbac", "binding_errors"),
    (_RBAC, "ClusterRoleBinding"): ("rbac", "cluster_binding_errors"),
    (_ADMISSION, "ValidatingWebhookConfiguration"): ("webhooks", "webhook_configuration_errors"),
    (_ADMISSION, "MutatingWebhookConfiguration"): ("webhooks", "webhook_configuration_errors"),
    (_ADMISSION, "ValidatingAdmissionPolicy"): ("admission_policies", "policy_errors"),
    (_ADMISSION, "MutatingAdmissionPolicy"): ("admission_policies", "mutating_policy_errors"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): ("admission_policies", "policy_binding_errors"),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): ("admission_policies", "mutating_policy_binding_errors"),
}


@cache
def check_of(key: tuple[str, str]) -> Check | None:
    """Give what checks a kind; ``None`` when nothing does."""
    place = CHECKS.get(key)
    if place is None:
        return None
    found: Check = getattr(import_module(f"steersman.apiserver.builtin.validation.{place[0]}"), place[1])
    return found


def validation_errors(gvk: GroupVersionKind, obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about an object of a built-in kind."""
    check = check_of((gvk.group, gvk.kind))
    return [] if check is None else check(obj, old, subresource)
