"""How firmly the resources of a pod are promised, which follows from what its containers ask for."""

from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.common.quantities import amount_of

_COMPUTE = ("cpu", "memory")


def quality_of_service(spec: Document) -> str:
    """Tell how firmly a pod's resources are promised."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    everything = [container.get("resources") or {} for container in containers]
    used = [_compute(part.get("requests")) or _compute(part.get("limits")) for part in everything]
    if not any(used):
        return "BestEffort"
    guaranteed = all(
        set(_compute(part.get("limits"))) == set(_COMPUTE)
        and all(
            amount_of(part["limits"][name]) == amount_of((part.get("requests") or part["limits"]).get(name, "0"))
            for name in _COMPUTE
        )
        for part in everything
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(amounts: Document | None) -> list[str]:
    return [name for name in _COMPUTE if name in (amounts or {}) and amount_of((amounts or {})[name])]
