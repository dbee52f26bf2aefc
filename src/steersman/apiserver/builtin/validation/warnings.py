"""What is accepted but deserves a word, by kind. The words about pods are loaded with the first template."""

from collections.abc import Callable
from typing import Any

from steersman.apiserver.builtin.common.quantities import amount_of
from steersman.objects.identity import GroupVersionKind
from steersman.validation.names import label_faults

Document = dict[str, Any]
_ADMISSION = "admissionregistration.k8s.io"
_CLASS = "kubernetes.io/ingress.class"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
#: Kinds that are kept and judged, but have no effect here: whoever writes one is told.
_NOT_ACTED_ON = {
    (_ADMISSION, "MutatingAdmissionPolicy"): "this server does not evaluate MutatingAdmissionPolicies",
    ("", "ResourceQuota"): "this server does not enforce ResourceQuotas",
}
#: Kinds that make pods: where their template stands.
_TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
#: Kinds whose names become parts of names of hosts.
_NAMING = frozenset(
    {
        ("", "ReplicationController"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    }
)
_SURPRISE = "which can result in surprising behavior; a DNS label is recommended"


def validation_warnings(gvk: GroupVersionKind, obj: Document, old: Document | None, subresource: str = "") -> list[str]:
    """Warn about an object of a built-in kind that is accepted."""
    key = (gvk.group, gvk.kind)
    if subresource == "status":
        return []
    if key in _TEMPLATES:
        return [*_name_warnings(key, obj, old), *_template_warnings(key, obj, old), *_own_warnings(key, obj, old)]
    return _own_warnings(key, obj, old)


def _own_warnings(key: tuple[str, str], obj: Document, old: Document | None) -> list[str]:
    if old is None and key in _NOT_ACTED_ON:
        return [_NOT_ACTED_ON[key]]
    make = _OWN.get(key)
    return [] if make is None else make(obj, old)


def _name_warnings(key: tuple[str, str], obj: Document, old: Document | None) -> list[str]:
    faults = label_faults(obj["metadata"].get("name") or "") if old is None and key in _NAMING else []
    if not faults:
        return []
    return [f"metadata.name: this is used in Pod names and hostnames, {_SURPRISE}: [{' '.join(faults)}]"]


def _template_warnings(key: tuple[str, str], obj: Document, old: Document | None) -> list[str]:
    """Warn about the pods that an object makes, as often as its template may have changed."""
    if old is not None and old["metadata"].get("generation") == obj["metadata"].get("generation"):
        return []
    if old is not None and key == ("apps", "DaemonSet") and _at(old, _TEMPLATES[key]) == _at(obj, _TEMPLATES[key]):
        return []
    return _pod_warnings(_at(obj, _TEMPLATES[key]), f"{'.'.join(_TEMPLATES[key])}.")


def _at(obj: Document, path: tuple[str, ...]) -> Document:
    for name in path:
        obj = obj.get(name) or {}
    return obj


def _pod_warnings(pod: Document, path: str) -> list[str]:
    from steersman.apiserver.builtin.pods.warnings import pod_warnings  # noqa: PLC0415 - loaded with the first pod

    return pod_warnings(pod, path)


def _pod(obj: Document, old: Document | None) -> list[str]:
    if old is not None:
        # Pods are updated often, and hardly ever by people.
        return []
    faults = label_faults(obj["metadata"].get("name") or "")
    about = [f"metadata.name: this is used in the Pod's hostname, {_SURPRISE}: [{' '.join(faults)}]"] if faults else []
    return [*about, *_pod_warnings(obj, "")]


def _ingress(obj: Document, old: Document | None) -> list[str]:
    if old is None and _CLASS in (obj["metadata"].get("annotations") or {}):
        return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _service(obj: Document, old: Document | None) -> list[str]:
    del old
    spec = obj["spec"]
    kind, outside = spec.get("type"), spec.get("externalIPs")
    is_headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    told = {
        "spec.loadBalancerIP is ignored for headless services": is_headless and spec.get("loadBalancerIP"),
        "spec.externalIPs is ignored for headless services": is_headless and outside,
        "spec.SessionAffinity is ignored for headless services": is_headless and spec.get("sessionAffinity") != "None",
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters": outside
        and not is_headless
        and kind != "ExternalName",
        'spec.externalIPs is ignored when spec.type is "ExternalName"': outside and kind == "ExternalName",
        'spec.externalName is ignored when spec.type is not "ExternalName"': spec.get("externalName")
        and kind != "ExternalName",
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': spec.get("trafficDistribution")
        == "PreferClose",
    }
    return [text for text, applies in told.items() if applies]


def _claim(obj: Document, old: Document | None) -> list[str]:
    del old
    text = 'deprecated since v1.8; use "storageClassName" attribute instead'
    annotations = obj["metadata"].get("annotations") or {}
    told = [f"metadata.annotations[{_STORAGE_CLASS}]: {text}"] if _STORAGE_CLASS in annotations else []
    return [*told, *claim_spec_warnings(obj.get("spec") or {}, "spec")]


def _volume(obj: Document, old: Document | None) -> list[str]:
    del old
    annotations = obj["metadata"].get("annotations") or {}
    notes = {
        _STORAGE_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
        _MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
    }
    told = [f"metadata.annotations[{name}]: {text}" for name, text in notes.items() if name in annotations]
    if (obj.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "Instead, the recommended approach is to use dynamic provisioning."
        told.append(f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {text}")
    return told


def claim_spec_warnings(spec: Document, path: str) -> list[str]:
    """Warn about a size that is no number of bytes."""
    resources = spec.get("resources") or {}
    amounts = {part: (resources.get(part) or {}).get("storage") for part in ("requests", "limits")}
    return [
        f'{path}.resources.{part}[storage]: fractional byte value "{text}" is invalid, must be an integer'
        for part, text in amounts.items()
        if text and amount_of(text).value % 1
    ]


def _stateful_set(obj: Document, old: Document | None) -> list[str]:
    spec = obj["spec"]
    inner = "" if old is None else ".Spec"
    told: list[str] = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        told += claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{inner}")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        told.append(f"spec.revisionHistoryLimit: {text}")
    return told


def _cron_job(obj: Document, old: Document | None) -> list[str]:
    if old is None or "TZ" not in (obj["spec"].get("schedule") or ""):
        return []
    link = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
    return [f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {link} for more details"]


_OWN: dict[tuple[str, str], Callable[[Document, Document | None], list[str]]] = {
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
    ("networking.k8s.io", "Ingress"): _ingress,
}
