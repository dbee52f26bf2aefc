"""Kinds that people look at less often: endpoints, autoscalers, quotas, certificates, admission."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from steersman.apiserver.builtin.common.cells import (
    NONE,
    UNSET,
    at,
    column,
    containers,
    created,
    field,
    images,
    labels_text,
    shortened,
)
from steersman.apiserver.resources.columns import NAME, Column, human_duration

Document = dict[str, Any]
_AGE = column("Age", created)
_UNKNOWN = "<unknown>"
_MOST_METRICS = 2
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _endpoints(obj: Document, _now: datetime) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = [f":{port.get('port', 0)}" for port in subset.get("ports") or ()] or [""]
        found += [f"{address}{port}" for port in ports for address in addresses]
    return shortened(found)


def _slice_ports(obj: Document, _now: datetime) -> str:
    ports = [
        str(port["port"]) if port.get("port") is not None else port.get("name", "*") for port in obj.get("ports") or ()
    ]
    return shortened(ports, UNSET) or UNSET


def _slice_endpoints(obj: Document, _now: datetime) -> str:
    found = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return shortened(found, UNSET)


def _share(value: Any) -> str | None:
    return None if value is None else f"{value}%"


def _measured(target: Document, current: Document, *, named: str = "") -> str:
    """Show what is wanted beside what there is."""
    prefix = f"{named}: " if named else ""
    if target.get("averageValue") is not None:
        suffix = "" if named else " (avg)"
        return f"{prefix}{current.get('averageValue') or _UNKNOWN}/{target['averageValue']}{suffix}"
    if named:
        have, want = _share(current.get("averageUtilization")), _share(target.get("averageUtilization"))
        return f"{prefix}{have or _UNKNOWN}/{want or '<auto>'}"
    return f"{current.get('value') or _UNKNOWN}/{target.get('value', '')}"


#: Type of a metric → where it is described.
_METRICS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: Document, status: Document) -> str:
    place = _METRICS.get(spec.get("type", ""))
    if place is None:
        return "<unknown type>"
    source, current = spec.get(place) or {}, at(status, place, "current", default={})
    target = source.get("target") or {}
    if place == "pods":
        return f"{current.get('averageValue') or _UNKNOWN}/{target.get('averageValue', '')}"
    return _measured(target, current, named=source.get("name", "") if "esource" in place else "")


def _targets(obj: Document, _now: datetime) -> str:
    metrics, statuses = _autoscaler_metrics(obj)
    if not metrics:
        return NONE
    shown = [_metric(metric, statuses[index] if index < len(statuses) else {}) for index, metric in enumerate(metrics)]
    text = ", ".join(shown[:_MOST_METRICS])
    return f"{text} + {len(shown) - _MOST_METRICS} more..." if len(shown) > _MOST_METRICS else text


def _autoscaler_metrics(obj: Document) -> tuple[Sequence[Document], Sequence[Document]]:
    """Give the metrics of an autoscaler of either version, and what was measured."""
    wanted = at(obj, "spec", "targetCPUUtilizationPercentage")
    if obj.get("apiVersion") != "autoscaling/v1":
        return at(obj, "spec", "metrics", default=()), at(obj, "status", "currentMetrics", default=())
    current = {"averageUtilization": at(obj, "status", "currentCPUUtilizationPercentage")}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": wanted}}}
    return ([metric] if wanted is not None else ()), [{"resource": {"current": current}}]


def _reference(obj: Document, _now: datetime) -> str:
    target = at(obj, "spec", "scaleTargetRef", default={})
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _least(obj: Document, _now: datetime) -> str:
    return str(at(obj, "spec", "minReplicas", default=UNSET))


def _ingress_class(obj: Document, _now: datetime) -> str:
    is_default = at(obj, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    return f"{obj['metadata']['name']} (default)" if is_default else str(obj["metadata"]["name"])


def _parameters(obj: Document, _now: datetime) -> str:
    found = at(obj, "spec", "parameters")
    if found is None:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") is not None else ""
    return f"{found.get('kind', '')}{group}/{found.get('name', '')}"


def _quota(*, limits: bool) -> Callable[[Document, datetime], str]:
    def cell(obj: Document, _now: datetime) -> str:
        hard, used = at(obj, "status", "hard", default={}), at(obj, "status", "used", default={})
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def _template_labels(obj: Document, _now: datetime) -> str:
    return labels_text(at(obj, "template", "metadata", "labels"))


def _controller(obj: Document, _now: datetime) -> str:
    for owner in at(obj, "metadata", "ownerReferences", default=()):
        if owner.get("controller"):
            group, slash, _ = owner["apiVersion"].partition("/")
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if slash else f"{kind}/{owner['name']}"
    return NONE


def _duration(obj: Document, _now: datetime) -> str:
    seconds = at(obj, "spec", "expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def _request_status(obj: Document, _now: datetime) -> str:
    types = {condition.get("type") for condition in at(obj, "status", "conditions", default=())}
    word = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    failed = ",Failed" if "Failed" in types else ""
    return f"{word}{failed}{',Issued' if at(obj, 'status', 'certificate') else ''}"


def _joined(*path: str, empty: str = NONE) -> Callable[[Document, datetime], str]:
    def cell(obj: Document, _now: datetime) -> str:
        return ",".join(at(obj, *path, default=())) or empty

    return cell


def _audiences(obj: Document, _now: datetime) -> str:
    found = at(obj, "spec", "tokenRequests")
    return UNSET if found is None else ",".join(item.get("audience", "") for item in found)


def _length(*path: str) -> Callable[[Document, datetime], int]:
    def cell(obj: Document, _now: datetime) -> int:
        return len(at(obj, *path, default=()))

    return cell


def _param_kind(obj: Document, _now: datetime) -> str:
    kind = at(obj, "spec", "paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _param_ref(obj: Document, _now: datetime) -> str:
    reference = at(obj, "spec", "paramRef")
    if reference is None:
        return UNSET
    namespace = reference.get("namespace")
    return f"{namespace}/{reference.get('name', '')}" if namespace else str(reference.get("name") or "*")


_WEBHOOKS = (NAME, column("Webhooks", _length("webhooks"), type_="integer"), _AGE)
_POLICY_BINDING = (NAME, column("PolicyName", field("spec", "policyName")), column("ParamRef", _param_ref), _AGE)
_ADMISSION = "admissionregistration.k8s.io"
OTHERS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Endpoints"): (NAME, column("Endpoints", _endpoints), _AGE),
    ("", "PodTemplate"): (
        NAME,
        column("Containers", containers("template")),
        column("Images", images("template")),
        column("Pod Labels", _template_labels),
    ),
    ("", "ResourceQuota"): (
        NAME,
        column("Request", _quota(limits=False)),
        column("Limit", _quota(limits=True)),
        _AGE,
    ),
    ("", "ComponentStatus"): (NAME, *(column(title, field()) for title in ("Status", "Message", "Error"))),
    ("apps", "ControllerRevision"): (
        NAME,
        column("Controller", _controller),
        column("Revision", field("revision", default=0)),
        _AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        column("Reference", _reference),
        column("Targets", _targets),
        column("MinPods", _least),
        column("MaxPods", field("spec", "maxReplicas", default=0)),
        column("Replicas", field("status", "currentReplicas", default=0)),
        _AGE,
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        column("AddressType", field("addressType")),
        column("Ports", _slice_ports),
        column("Endpoints", _slice_endpoints),
        _AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        Column("Name", _ingress_class, format="name", description=NAME.description),
        column("Controller", field("spec", "controller")),
        column("Parameters", _parameters),
        _AGE,
    ),
    ("networking.k8s.io", "ServiceCIDR"): (NAME, column("CIDRs", _joined("spec", "cidrs", empty="")), _AGE),
    ("certificates.k8s.io", "CertificateSigningRequest"): (
        NAME,
        _AGE,
        column("SignerName", field("spec", "signerName", default=NONE)),
        column("Requestor", field("spec", "username")),
        column("RequestedDuration", _duration),
        column("Condition", _request_status),
    ),
    ("storage.k8s.io", "CSIDriver"): (
        NAME,
        column("AttachRequired", field("spec", "attachRequired", default=True), type_="boolean"),
        column("PodInfoOnMount", field("spec", "podInfoOnMount", default=False), type_="boolean"),
        column("StorageCapacity", field("spec", "storageCapacity", default=False), type_="boolean"),
        column("TokenRequests", _audiences),
        column("RequiresRepublish", field("spec", "requiresRepublish", default=False), type_="boolean"),
        column("Modes", _joined("spec", "volumeLifecycleModes")),
        _AGE,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): (NAME, column("DriverName", field("driverName")), _AGE),
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): (
        NAME,
        column("Validations", _length("spec", "validations"), type_="integer"),
        column("ParamKind", _param_kind),
        _AGE,
    ),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _POLICY_BINDING,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _POLICY_BINDING,
}
