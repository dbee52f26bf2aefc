"""Which kind is filled in by what."""

from collections.abc import Callable
from typing import Any

from steersman.apiserver.builtin.defaults import others
from steersman.apiserver.builtin.pods import defaults as pods
from steersman.apiserver.builtin.workloads import deployments as workloads
from steersman.objects.identity import GroupVersionKind

Default = Callable[[dict[str, Any]], None]

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_DEFAULTS: dict[tuple[str, str], Default] = {
    ("", "Pod"): pods.default_pod,
    ("", "PodTemplate"): pods.default_pod_template,
    ("", "ReplicationController"): workloads.default_replication_controller,
    ("", "Service"): others.default_service,
    ("", "Secret"): others.default_secret,
    ("", "Endpoints"): others.default_endpoints,
    ("", "PersistentVolume"): others.default_volume,
    ("", "PersistentVolumeClaim"): others.default_claim,
    ("", "LimitRange"): others.default_limit_range,
    ("apps", "Deployment"): workloads.default_deployment,
    ("apps", "ReplicaSet"): workloads.default_replica_set,
    ("apps", "StatefulSet"): workloads.default_stateful_set,
    ("apps", "DaemonSet"): workloads.default_daemon_set,
    ("batch", "Job"): workloads.default_job,
    ("batch", "CronJob"): workloads.default_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): workloads.default_autoscaler,
    ("storage.k8s.io", "StorageClass"): others.default_storage_class,
    ("storage.k8s.io", "CSIDriver"): others.default_csi_driver,
    ("networking.k8s.io", "NetworkPolicy"): others.default_network_policy,
    ("networking.k8s.io", "Ingress"): others.default_ingress,
    ("networking.k8s.io", "IngressClass"): others.default_ingress_class,
    ("discovery.k8s.io", "EndpointSlice"): others.default_endpoint_slice,
    ("scheduling.k8s.io", "PriorityClass"): others.default_priority_class,
    (_RBAC, "RoleBinding"): others.default_binding,
    (_RBAC, "ClusterRoleBinding"): others.default_binding,
    (_ADMISSION, "ValidatingWebhookConfiguration"): others.default_webhooks,
    (_ADMISSION, "MutatingWebhookConfiguration"): others.default_mutating_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): others.default_policy,
    (_ADMISSION, "MutatingAdmissionPolicy"): others.default_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): others.default_policy_binding,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): others.default_policy_binding,
    ("apiregistration.k8s.io", "APIService"): others.default_api_service,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): others.default_flow_schema,
    ("resource.k8s.io", "ResourceClaim"): others.default_resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): others.default_resource_claim_template,
}


def defaults_of(gvk: GroupVersionKind) -> Default | None:
    """Give what fills in a kind; ``None`` when there is nothing to fill in."""
    if gvk == GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"):
        return workloads.default_autoscaler_v1
    return _DEFAULTS.get((gvk.group, gvk.kind))
