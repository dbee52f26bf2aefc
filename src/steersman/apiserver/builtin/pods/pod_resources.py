"""Requests and limits of a whole pod (``spec.resources``): defaults, and how they bound those of its containers."""

from steersman.apiserver.builtin.common.quantities import parse_quantity, requirements_errors
from steersman.json_types import JsonObject
from steersman.objects.quantity import Quantity
from steersman.validation.field_errors import Errors, ErrorType, FieldError, forbidden, invalid, not_supported

_SUPPORTED = ("cpu", "hugepages-", "memory")
#: Resources whose requests follow from those of the containers.
_SUMMED = ("cpu", "memory")


def default_pod_resources(spec: JsonObject) -> None:
    """Set missing requests of a pod: the sum of its containers' requests, or else its own limits."""
    resources = spec.get("resources")
    if not resources or not (resources.get("requests") or resources.get("limits")):
        return
    totals = _container_requests(spec)
    requests = dict(resources.get("requests") or {})
    for name in _SUMMED:
        if name not in requests and name in totals:
            requests[name] = totals[name].canonical()
    for name, amount in (resources.get("limits") or {}).items():
        requests.setdefault(name, amount)
    resources["requests"] = requests


def _container_requests(spec: JsonObject) -> dict[str, Quantity]:
    totals: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
            amount = parse_quantity(text)
            totals[name] = totals[name] + amount if name in totals else amount
    return totals


def pod_resource_errors(spec: JsonObject, path: str) -> Errors:
    """Validate the requests and limits of a pod, alone and against those of its containers."""
    resources, path = spec["resources"], f"{path}.resources"
    errors: Errors = []
    if resources.get("claims"):
        errors.append(forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
        errors += _claim_errors(spec, resources["claims"], f"{path}.claims")
    unknown: Errors = [
        not_supported(f"{path}.{part}[{name}]", name, _SUPPORTED)
        for part in ("limits", "requests")
        for name in resources.get(part) or {}
        if name not in _SUMMED and not name.startswith("hugepages-")
    ]
    if unknown:
        return errors + unknown[:1]
    errors += requirements_errors(resources, path)
    return errors + _request_errors(spec, resources, path) + _limit_errors(spec, resources, path)


def _claim_errors(spec: JsonObject, claims: list[JsonObject], path: str) -> Errors:
    known = [claim.get("name") for claim in spec.get("resourceClaims") or ()]
    names = f"[{' '.join(map(str, known))}]" if known else "empty"
    text = f"must be one of the names in pod.spec.resourceClaims which is {names}"
    return [
        FieldError(ErrorType.NOT_FOUND, f"{path}[{index}]", claim.get("name") or "", text)
        for index, claim in enumerate(claims)
        if claim.get("name") not in known
    ]


def _request_errors(spec: JsonObject, resources: JsonObject, path: str) -> Errors:
    totals, requests = _container_requests(spec), resources.get("requests") or {}
    errors: Errors = []
    for name, total in totals.items():
        if name in requests and parse_quantity(requests[name]).value < total.value:
            text = f"must be greater than or equal to aggregate container requests of {total.canonical()}"
            errors.append(invalid(f"{path}.requests[{name}]", parse_quantity(requests[name]).canonical(), text))
    return errors


def _limit_errors(spec: JsonObject, resources: JsonObject, path: str) -> Errors:
    limits = resources.get("limits") or {}
    errors: Errors = []
    for index, container in enumerate(spec.get("containers") or ()):
        for name, text in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and parse_quantity(text).value > parse_quantity(limits[name]).value:
                why = f"must be less than or equal to pod limits of {parse_quantity(limits[name]).canonical()}"
                field = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid(field, parse_quantity(text).canonical(), why))
    return errors
