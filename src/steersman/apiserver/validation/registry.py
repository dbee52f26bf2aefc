"""Which kind is checked by what."""

from collections.abc import Callable
from typing import Any

from steersman.apiserver.validation import pods, services, workloads
from steersman.objects.identity import GroupVersionKind
from steersman.schema.field_errors import FieldError

Document = dict[str, Any]
Check = Callable[[Document, Document | None, str], list[FieldError]]


def _pod(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    if subresource in ("status", "ephemeralcontainers", "resize"):
        return []
    if old is not None:
        return pods.pod_update_errors(obj, old)
    return pods.pod_spec_errors(obj["spec"], "spec")


_RBAC = "rbac.authorization.k8s.io"
_CHECKS: dict[tuple[str, str], Check] = {
    ("", "Pod"): _pod,
    ("", "Service"): services.service_errors,
    ("apps", "Deployment"): workloads.deployment_errors,
    ("apps", "ReplicaSet"): workloads.replica_set_errors,
    ("apps", "StatefulSet"): workloads.stateful_set_errors,
    ("apps", "DaemonSet"): workloads.daemon_set_errors,
    ("batch", "Job"): workloads.job_errors,
    ("networking.k8s.io", "Ingress"): services.ingress_errors,
    (_RBAC, "RoleBinding"): services.binding_errors,
    (_RBAC, "ClusterRoleBinding"): services.binding_errors,
}
_TEMPLATED = frozenset(
    {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("batch", "Job")}
)


def validation_errors(gvk: GroupVersionKind, obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about an object of a built-in kind."""
    check = _CHECKS.get((gvk.group, gvk.kind))
    return [] if check is None else check(obj, old, subresource)


def validation_warnings(gvk: GroupVersionKind, obj: Document, old: Document | None) -> list[str]:
    """Warn about an object of a built-in kind that is accepted."""
    key = (gvk.group, gvk.kind)
    if key in _TEMPLATED:
        template = (obj["spec"].get("template") or {}).get("spec") or {}
        if old is not None and old["metadata"].get("generation") == obj["metadata"].get("generation"):
            return []
        path = "spec.template.spec"
        return [*pods.env_warnings(template, path), *pods.port_warnings(template, path)]
    if key == ("", "Pod") and old is None:
        return [*pods.env_warnings(obj["spec"], "spec"), *pods.port_warnings(obj["spec"], "spec")]
    return []
