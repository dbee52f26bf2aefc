"""Amounts of resources inside built-in kinds: their names, signs and grain."""

from functools import lru_cache

from steersman.apiserver.builtin.common.documents import Document, Errors
from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.apiserver.builtin.common.numbers import NEGATIVE, NOT_POSITIVE
from steersman.objects.quantity import Quantity
from steersman.validation.field_errors import forbidden, invalid, required

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
    """Tell whether more of a resource may be promised than there is."""
    return ("/" not in name or _NATIVE in name) and not name.startswith(_HUGE)


def resource_name_errors(name: str, field: str) -> Errors:
    """Complain about the name of a resource."""
    errors = qualified_errors(name, field)
    if not errors and "/" not in name and not _is_standard(name):
        errors.append(invalid(field, name, _NOT_STANDARD))
    return errors


def container_resource_name_errors(name: str, field: str) -> Errors:
    """Complain about a resource that no container can ask for."""
    errors = resource_name_errors(name, field)
    if "/" not in name and name not in _CONTAINER and not name.startswith(_HUGE):
        errors.append(invalid(field, name, "must be a standard resource for containers"))
    return errors


def quota_resource_name_errors(name: str, field: str) -> Errors:
    """Complain about a resource that no quota can limit."""
    errors = resource_name_errors(name, field)
    if "/" not in name and name not in _QUOTA and not name.startswith((_HUGE, "requests.hugepages-")):
        errors.append(invalid(field, name, "must be a standard resource for quota"))
    return errors


@lru_cache(maxsize=4096)
def amount_of(text: str) -> Quantity:
    """Read an amount; the same few texts stand in all objects of a cluster."""
    return Quantity(text)


def shown(text: str) -> str:
    """Give an amount as messages show it."""
    return amount_of(text).canonical()


def amount_errors(name: str, text: str, field: str) -> Errors:
    """Complain about an amount of a resource: below nothing, or a part of what comes whole."""
    amount = amount_of(text)
    errors: Errors = []
    if amount.value < 0:
        errors.append(invalid(field, amount.canonical(), NEGATIVE))
    if _is_whole(name) and amount.value * _MILLI % _MILLI:
        errors.append(invalid(field, amount.canonical(), "must be an integer"))
    return errors


def positive_errors(text: str, field: str) -> Errors:
    """Complain about an amount that is nothing or less."""
    amount = amount_of(text)
    return [] if amount.value > 0 else [invalid(field, amount.canonical(), NOT_POSITIVE)]


def requirements_errors(resources: Document | None, path: str) -> Errors:
    """Complain about what a container requests and is limited to."""
    if not resources:
        return []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors: Errors = []
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            # Only these have no rule but their sign; almost all containers ask for nothing else.
            field = f"{path}.{part}[{name}]"
            if name not in _CONTAINER:
                errors += container_resource_name_errors(name, field)
            errors += amount_errors(name, text, field)
            if part == "requests":
                errors += _request_errors(name, text, limits, path)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors


def _request_errors(name: str, text: str, limits: Document, path: str) -> Errors:
    if name not in limits:
        if is_overcommittable(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    amount, limit = amount_of(text), amount_of(limits[name])
    if amount.value != limit.value and not is_overcommittable(name):
        why = f"must be equal to {name} limit of {limit.canonical()}"
    elif amount.value > limit.value:
        why = f"must be less than or equal to {name} limit of {limit.canonical()}"
    else:
        return []
    return [invalid(f"{path}.requests", amount.canonical(), why)]
