"""What admission does to pods: LimitRanges, RuntimeClass, priority and default tolerations.

These are admission plugins in Kubernetes. They run before the name of a pod is validated, so a pod that they reject may
have none.
"""

from collections.abc import Iterator
from typing import Any

from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal, forbidden
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.quantity import Quantity

_ANNOTATION = "kubernetes.io/limit-ranger"
_PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
#: Priority classes that every cluster has.
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS = 300


def _forbidden_pod(obj: JsonObject, why: str) -> Refusal:
    return forbidden("pods", "", obj["metadata"].get("name") or "Unknown", why)


def apply_runtime_class(objects: ObjectStore, obj: JsonObject) -> None:
    """Set overhead, node selector and tolerations from the RuntimeClass of a pod; reject a pod that contradicts it."""
    spec, chosen = obj["spec"], {}
    if name := spec.get("runtimeClassName"):
        record = objects.store.get("runtimeclasses.node.k8s.io", "", name)
        if record is None:
            raise _forbidden_pod(obj, f'pod rejected: RuntimeClass "{name}" not found')
        chosen = decode_json(record.raw)
    _set_overhead(obj, (chosen.get("overhead") or {}).get("podFixed"))
    scheduling = chosen.get("scheduling") or {}
    if wanted := scheduling.get("nodeSelector"):
        own = spec.get("nodeSelector") or {}
        for key, value in wanted.items():
            if own.get(key, value) != value:
                why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}"
                raise _forbidden_pod(obj, f"{why}; pod.spec.nodeSelector[{key}] = {own[key]}")
        spec["nodeSelector"] = {**own, **wanted}
    tolerations = spec.get("tolerations") or []
    if added := [item for item in scheduling.get("tolerations") or () if item not in tolerations]:
        spec["tolerations"] = [*tolerations, *added]


def _set_overhead(obj: JsonObject, overhead: JsonObject | None) -> None:
    own = obj["spec"].get("overhead")
    if overhead is None:
        if own is not None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise _forbidden_pod(obj, why)
        return
    if own is not None and own != overhead:
        raise _forbidden_pod(obj, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    obj["spec"]["overhead"] = overhead


def set_priority(objects: ObjectStore, obj: JsonObject) -> None:
    """Set priority and preemption policy from the PriorityClass of the pod, or from the default class."""
    spec = obj["spec"]
    name = spec.get("priorityClassName") or _default_priority_class(objects)
    if not name:
        _set_priority_fields(obj, 0, "PreemptLowerPriority")
        return
    if name in _SYSTEM_PRIORITIES:
        value, policy = _SYSTEM_PRIORITIES[name], "PreemptLowerPriority"
    else:
        record = objects.store.get(_PRIORITY_CLASSES, "", name)
        if record is None:
            raise _forbidden_pod(obj, f"no PriorityClass with name {name} was found")
        found: JsonObject = decode_json(record.raw)
        value, policy = found.get("value", 0), found.get("preemptionPolicy", "PreemptLowerPriority")
    spec["priorityClassName"] = name
    _set_priority_fields(obj, value, policy)


def _default_priority_class(objects: ObjectStore) -> str:
    for record in objects.records_of(_PRIORITY_CLASSES):
        if decode_json(record.raw).get("globalDefault"):
            return record.name
    return ""


def _set_priority_fields(obj: JsonObject, value: int, policy: str) -> None:
    """Set priority and preemption policy; reject a pod that has other values."""
    spec = obj["spec"]
    given = (("integer", "priority", "priority", value), ("string", "PreemptionPolicy", "preemptionPolicy", policy))
    for kind, go_name, name, computed in given:
        if spec.get(name) is not None and spec[name] != computed:
            why = (
                f"the {kind} value of {go_name} ({spec[name]}) must not be provided in pod spec; priority admission "
                f"controller computed {computed} from the given PriorityClass name"
            )
            raise _forbidden_pod(obj, why)
        spec[name] = computed


def add_default_tolerations(spec: JsonObject) -> None:
    """Add tolerations for nodes that are not ready or unreachable, unless the pod has its own."""
    tolerations = list(spec.get("tolerations") or ())
    for taint in _TAINTS:
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            tolerations.append(
                {
                    "key": taint,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATED_SECONDS,
                }
            )
    spec["tolerations"] = tolerations


def _tolerates(toleration: Any, taint: str) -> bool:
    return (toleration.get("key") or taint) == taint and toleration.get("effect", "NoExecute") in ("NoExecute", "")


def _limits(objects: ObjectStore, obj: JsonObject) -> list[JsonObject]:
    records = objects.records_of("limitranges", obj["metadata"].get("namespace", ""))
    return [limit for record in records for limit in decode_json(record.raw)["spec"].get("limits") or ()]


def set_default_resources(objects: ObjectStore, obj: JsonObject) -> None:
    """Set missing requests and limits of containers from the LimitRanges of the namespace."""
    if limits := _limits(objects, obj):
        _set_defaults(obj, [limit for limit in limits if limit.get("type") == "Container"])


def check_limit_ranges(objects: ObjectStore, obj: JsonObject) -> None:
    """Reject a pod outside the bounds of the LimitRanges of its namespace."""
    if violations := list(_violations(obj["spec"], _limits(objects, obj))):
        why = violations[0] if len(violations) == 1 else f"[{', '.join(violations)}]"
        raise _forbidden_pod(obj, why)


def _containers(spec: JsonObject) -> list[JsonObject]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _set_defaults(obj: JsonObject, limits: list[JsonObject]) -> None:
    given: dict[str, JsonObject] = {"requests": {}, "limits": {}}
    for limit in limits:
        given["requests"] |= limit.get("defaultRequest") or {}
        given["limits"] |= limit.get("default") or {}
    notes: list[str] = []
    for kind in ("containers", "initContainers"):
        for container in obj["spec"].get(kind) or ():
            what = "container" if kind == "containers" else "init container"
            notes += _set_container_defaults(container, given, f"{what} {container.get('name', '')}")
    if notes:
        annotations = obj["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        obj["metadata"]["annotations"] = {**annotations, _ANNOTATION: text}


def _set_container_defaults(container: JsonObject, given: dict[str, JsonObject], where: str) -> Iterator[str]:
    resources = dict(container.get("resources") or {})
    for part, what in (("requests", "request"), ("limits", "limit")):
        own = dict(resources.get(part) or {})
        added = sorted(name for name in given[part] if name not in own)
        if added:
            resources[part] = {**own, **{name: given[part][name] for name in added}}
            yield f"{', '.join(added)} {what} for {where}"
    if resources:
        container["resources"] = resources


def _violations(spec: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for container in _containers(spec):
                yield from _resource_violations(container.get("resources") or {}, limit, "Container")
        elif limit.get("type") == "Pod":
            yield from _resource_violations(_total_resources(spec), limit, "Pod")


def _total_resources(spec: JsonObject) -> JsonObject:
    """Return the sums of the requests and limits of a pod's containers."""
    whole: JsonObject = {"requests": {}, "limits": {}}
    for container in spec.get("containers") or ():
        for part in whole:
            for name, text in ((container.get("resources") or {}).get(part) or {}).items():
                whole[part][name] = (Quantity(whole[part].get(name, "0")) + Quantity(text)).canonical()
    return whole


def _resource_violations(resources: JsonObject, limit: JsonObject, kind: str) -> Iterator[str]:
    requests, most = resources.get("requests") or {}, resources.get("limits") or {}
    for name, text in (limit.get("min") or {}).items():
        rule = f"minimum {name} usage per {kind} is {parse_quantity(text).canonical()}"
        yield from _bound_violations(rule, text, requests.get(name), "request")
    for name, text in (limit.get("max") or {}).items():
        rule = f"maximum {name} usage per {kind} is {parse_quantity(text).canonical()}"
        yield from _bound_violations(rule, text, most.get(name), "limit")
    for name, text in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio_violations(name, text, requests.get(name), most.get(name), kind)


def _bound_violations(rule: str, bound: str, given: str | None, what: str) -> Iterator[str]:
    if given is None:
        yield f"{rule}.  No {what} is specified"
        return
    amount, edge = parse_quantity(given), parse_quantity(bound)
    if (amount.value < edge.value) if what == "request" else (amount.value > edge.value):
        yield f"{rule}, but {what} is {amount.canonical()}"


def _ratio_violations(name: str, text: str, request: str | None, most: str | None, kind: str) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {parse_quantity(text).canonical()}"
    if request is None or most is None or not parse_quantity(request).value:
        yield (
            f"{rule}, but no request is specified or request is 0"
            if most is not None
            else (f"{rule}, but no limit is specified or limit is 0")
        )
        return
    ratio = float(parse_quantity(most).value / parse_quantity(request).value)
    if ratio > float(parse_quantity(text).value):
        yield f"{rule}, but provided ratio is {ratio:f}"
