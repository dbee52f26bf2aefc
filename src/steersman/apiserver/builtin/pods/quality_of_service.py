"""The quality-of-service class of a pod, which follows from its requests and limits, or those of its containers."""

from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.json_types import JsonObject

_COMPUTE = ("cpu", "memory")


def quality_of_service(spec: JsonObject) -> str:
    """Return ``BestEffort``, ``Burstable`` or ``Guaranteed``."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    everything = [container.get("resources") or {} for container in containers]
    own = spec.get("resources") or {}
    if own.get("requests") or own.get("limits"):
        everything = [own]
    used = [_compute(part.get("requests")) or _compute(part.get("limits")) for part in everything]
    if not any(used):
        return "BestEffort"
    guaranteed = all(
        set(_compute(part.get("limits"))) == set(_COMPUTE)
        and all(
            parse_quantity(part["limits"][name])
            == parse_quantity((part.get("requests") or part["limits"]).get(name, "0"))
            for name in _COMPUTE
        )
        for part in everything
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(amounts: JsonObject | None) -> list[str]:
    return [name for name in _COMPUTE if name in (amounts or {}) and parse_quantity((amounts or {})[name])]
