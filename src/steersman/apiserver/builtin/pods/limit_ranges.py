"""What the LimitRanges of a namespace do to new pods: default requests and limits, and bounds."""

from collections.abc import Iterator

from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.status import forbidden
from steersman.objects.codec import decode_json
from steersman.objects.quantity import Quantity

_ANNOTATION = "kubernetes.io/limit-ranger"


def apply_limit_ranges(ledger: Ledger, obj: Document) -> None:
    """Set missing requests and limits of containers; reject a pod outside the bounds."""
    records = ledger.records_of("limitranges", obj["metadata"].get("namespace", ""))
    if not records:
        return
    limits = [limit for record in records for limit in decode_json(record.raw)["spec"].get("limits") or ()]
    _set_defaults(obj, [limit for limit in limits if limit.get("type") == "Container"])
    violations = list(_violations(obj["spec"], limits))
    if violations:
        why = violations[0] if len(violations) == 1 else f"[{', '.join(violations)}]"
        raise forbidden("pods", "", obj["metadata"].get("name", ""), why)


def _containers(spec: Document) -> list[Document]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _set_defaults(obj: Document, limits: list[Document]) -> None:
    given: dict[str, Document] = {"requests": {}, "limits": {}}
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


def _set_container_defaults(container: Document, given: dict[str, Document], where: str) -> Iterator[str]:
    resources = dict(container.get("resources") or {})
    for part, what in (("requests", "request"), ("limits", "limit")):
        own = dict(resources.get(part) or {})
        added = sorted(name for name in given[part] if name not in own)
        if added:
            resources[part] = {**own, **{name: given[part][name] for name in added}}
            yield f"{', '.join(added)} {what} for {where}"
    if resources:
        container["resources"] = resources


def _violations(spec: Document, limits: list[Document]) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for container in _containers(spec):
                yield from _resource_violations(container.get("resources") or {}, limit, "Container")
        elif limit.get("type") == "Pod":
            yield from _resource_violations(_total_resources(spec), limit, "Pod")


def _total_resources(spec: Document) -> Document:
    """Return the sums of the requests and limits of a pod's containers."""
    whole: Document = {"requests": {}, "limits": {}}
    for container in spec.get("containers") or ():
        for part in whole:
            for name, text in ((container.get("resources") or {}).get(part) or {}).items():
                whole[part][name] = (Quantity(whole[part].get(name, "0")) + Quantity(text)).canonical()
    return whole


def _resource_violations(resources: Document, limit: Document, kind: str) -> Iterator[str]:
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
