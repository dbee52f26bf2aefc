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
    ("", "Pod"): ("pods.update_validation", "pod_errors"),
    ("", "PodTemplate"): ("pods.validation", "pod_template_errors"),
    ("", "ReplicationController"): ("workloads.deployment_validation", "replication_controller_errors"),
    ("", "Service"): ("networking.service_validation", "service_errors"),
    ("", "Endpoints"): ("networking.endpoint_validation", "endpoints_errors"),
    ("", "Event"): ("coordination.event_validation", "core_event_errors"),
    ("", "LimitRange"): ("config.quota_validation", "limit_range_errors"),
    ("", "ResourceQuota"): ("config.quota_validation", "quota_errors"),
    ("", "PersistentVolume"): ("storage.claim_validation", "volume_errors"),
    ("", "PersistentVolumeClaim"): ("storage.claim_validation", "claim_errors"),
    ("", "Node"): ("cluster.node_validation", "node_errors"),
    ("apps", "Deployment"): ("workloads.deployment_validation", "deployment_errors"),
    ("apps", "ReplicaSet"): ("workloads.deployment_validation", "replica_set_errors"),
    ("apps", "StatefulSet"): ("workloads.deployment_validation", "stateful_set_errors"),
    ("apps", "DaemonSet"): ("workloads.deployment_validation", "daemon_set_errors"),
    ("apps", "ControllerRevision"): ("workloads.deployment_validation", "controller_revision_errors"),
    ("batch", "Job"): ("workloads.job_validation", "job_errors"),
    ("batch", "CronJob"): ("workloads.job_validation", "cron_job_errors"),
    ("autoscaling", "HorizontalPodAutoscaler"): ("scaling.autoscaler_validation", "autoscaler_errors"),
    ("policy", "PodDisruptionBudget"): ("scaling.autoscaler_validation", "budget_errors"),
    (_NETWORKING, "Ingress"): ("networking.ingress_validation", "ingress_errors"),
    (_NETWORKING, "IngressClass"): ("networking.ingress_validation", "ingress_class_errors"),
    (_NETWORKING, "NetworkPolicy"): ("networking.ingress_validation", "network_policy_errors"),
    (_NETWORKING, "ServiceCIDR"): ("networking.ingress_validation", "service_cidr_errors"),
    ("discovery.k8s.io", "EndpointSlice"): ("networking.endpoint_validation", "endpoint_slice_errors"),
    ("storage.k8s.io", "StorageClass"): ("storage.claim_validation", "storage_class_errors"),
    ("scheduling.k8s.io", "PriorityClass"): ("cluster.node_validation", "priority_class_errors"),
    ("node.k8s.io", "RuntimeClass"): ("cluster.node_validation", "runtime_class_errors"),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("cluster.node_validation", "signing_request_errors"),
    ("coordination.k8s.io", "Lease"): ("coordination.event_validation", "lease_errors"),
    ("events.k8s.io", "Event"): ("coordination.event_validation", "new_event_errors"),
    (_RBAC, "Role"): ("rbac.validation", "role_errors"),
    (_RBAC, "ClusterRole"): ("rbac.validation", "cluster_role_errors"),
    (_RBAC, "RoleBinding"): ("rbac.validation", "binding_errors"),
    (_RBAC, "ClusterRoleBinding"): ("rbac.validation", "cluster_binding_errors"),
    (_ADMISSION, "ValidatingWebhookConfiguration"): (
        "admission_registration.webhook_validation",
        "webhook_configuration_errors",
    ),
    (_ADMISSION, "MutatingWebhookConfiguration"): (
        "admission_registration.webhook_validation",
        "webhook_configuration_errors",
    ),
    (_ADMISSION, "ValidatingAdmissionPolicy"): ("admission_registration.policy_validation", "policy_errors"),
    (_ADMISSION, "MutatingAdmissionPolicy"): ("admission_registration.policy_validation", "mutating_policy_errors"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): (
        "admission_registration.policy_validation",
        "policy_binding_errors",
    ),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): (
        "admission_registration.policy_validation",
        "mutating_policy_binding_errors",
    ),
}


@cache
def check_of(key: tuple[str, str]) -> Check | None:
    """Give what checks a kind; ``None`` when nothing does."""
    place = CHECKS.get(key)
    if place is None:
        return None
    found: Check = getattr(import_module(f"steersman.apiserver.builtin.{place[0]}"), place[1])
    return found


def validation_errors(gvk: GroupVersionKind, obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about an object of a built-in kind."""
    check = check_of((gvk.group, gvk.kind))
    return [] if check is None else check(obj, old, subresource)
