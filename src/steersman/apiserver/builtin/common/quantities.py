"""Validation of resource quantities and the names of resources."""

from functools import lru_cache

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.apiserver.builtin.common.numbers import NEGATIVE, NOT_POSITIVE
from steersman.json_types import JsonObject
from steersman.objects.quantity import Quantity
from steersman.validation.field_errors import Errors, forbidden, invalid, required

_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_QUOTA = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_STANDARD = _QUOTA | {"storage"}
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_HUGE = "hugepages-"
_NATIVE = "kubernetes.io/"
_MILLI = 1000
_NOT_STANDARD = "must be a standard resource type or fully qualified"


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith((_HUGE, "requests.hugepages-"))


def _is_extended(name: str) -> bool:
    return "/" in name and _NATIVE not in name and not name.startswith("requests.")


def _is_whole(name: str) -> bool:
    return name in _COUNTED or _is_extended(name)


def is_overcommittable(name: str) -> bool:
    """Return whether limits of a resource may exceed its requests."""
    return ("/" not in name or _NATIVE in name) and not name.startswith(_HUGE)


def resource_name_errors(name: str, field: str) -> Errors:
    """Validate the name of a resource."""
    errors = qualified_errors(name, field)
    if not errors and "/" not in name and not _is_standard(name):
        errors.append(invalid(field, name, _NOT_STANDARD))
    return errors


def container_resource_name_errors(name: str, field: str) -> Errors:
    """Validate the name of a resource that a container requests."""
    errors = resource_name_errors(name, field)
    if "/" not in name and name not in _CONTAINER and not name.startswith(_HUGE):
        errors.append(invalid(field, name, "must be a standard resource for containers"))
    return errors


def quota_resource_name_errors(name: str, field: str) -> Errors:
    """Validate the name of a resource that a quota limits."""
    errors = resource_name_errors(name, field)
    if "/" not in name and name not in _QUOTA and not name.startswith((_HUGE, "requests.hugepages-")):
        errors.append(invalid(field, name, "must be a standard resource for quota"))
    return errors


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Parse a quantity; results are cached, because a cluster's objects repeat the same few."""
    return Quantity(text)


def quantity_text(text: str) -> str:
    """Return a quantity as error messages quote it."""
    return parse_quantity(text).canonical()


def quantity_errors(name: str, text: str, field: str) -> Errors:
    """Validate a quantity: not negative, and an integer for resources that come in whole units."""
    amount = parse_quantity(text)
    errors: Errors = []
    if amount.value < 0:
        errors.append(invalid(field, amount.canonical(), NEGATIVE))
    if _is_whole(name) and amount.value * _MILLI % _MILLI:
        errors.append(invalid(field, amount.canonical(), "must be an integer"))
    return errors


def positive_errors(text: str, field: str) -> Errors:
    """Validate a positive quantity."""
    amount = parse_quantity(text)
    return [] if amount.value > 0 else [invalid(field, amount.canonical(), NOT_POSITIVE)]


def requirements_errors(resources: JsonObject | None, path: str) -> Errors:
    """Validate the requests and limits of a container."""
    if not resources:
        return []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors: Errors = []
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            # For these only the sign matters, and most containers request nothing else.
            field = f"{path}.{part}[{name}]"
            if name not in _CONTAINER:
                errors += container_resource_name_errors(name, field)
            errors += quantity_errors(name, text, field)
            if part == "requests":
                errors += _request_errors(name, text, limits, path)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors


def _request_errors(name: str, text: str, limits: JsonObject, path: str) -> Errors:
    if name not in limits:
        if is_overcommittable(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    amount, limit = parse_quantity(text), parse_quantity(limits[name])
    if amount.value != limit.value and not is_overcommittable(name):
        why = f"must be equal to {name} limit of {limit.canonical()}"
    elif amount.value > limit.value:
        why = f"must be less than or equal to {name} limit of {limit.canonical()}"
    else:
        return []
    return [invalid(f"{path}.requests", amount.canonical(), why)]
