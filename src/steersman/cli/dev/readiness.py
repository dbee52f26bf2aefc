"""Whether an object is as it should be, as far as its own status tells."""

from typing import Any

#: Conditions that say so, the first that an object has counts.
_CONDITIONS = ("Ready", "Available", "Complete", "Established")
#: Numbers that say so: what is, and what should be.
_NUMBERS = (("readyReplicas", "replicas"), ("numberReady", "desiredNumberScheduled"))


def is_ready(obj: dict[str, Any]) -> bool | None:
    """Tell whether an object is ready; ``None`` for one whose status says nothing about it."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    if status.get("phase") == "Succeeded":
        return True
    by_number = _by_number(obj, status)
    return by_number if by_number is not None else _by_condition(status)


def _by_number(obj: dict[str, Any], status: dict[str, Any]) -> bool | None:
    """Compare what is with what should be; a count of zero is left out of a status."""
    kind, spec = obj.get("kind"), obj.get("spec")
    if kind in ("Deployment", "ReplicaSet", "StatefulSet") and isinstance(spec, dict):
        wanted = spec.get("replicas", 1)
        return bool(_is_current(obj, status) and status.get("readyReplicas", 0) == wanted)
    for there, wanted in _NUMBERS:
        if there in status and wanted in status:
            return bool(_is_current(obj, status) and status[there] == status[wanted])
    return None


def _is_current(obj: dict[str, Any], status: dict[str, Any]) -> bool:
    """Tell whether the status speaks of the newest spec."""
    generation = obj.get("metadata", {}).get("generation")
    return bool(generation is None or status.get("observedGeneration", generation) == generation)


def _by_condition(status: dict[str, Any]) -> bool | None:
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return None
    found = {one.get("type"): one.get("status") for one in conditions if isinstance(one, dict)}
    for name in _CONDITIONS:
        if name in found:
            return bool(found[name] == "True")
    return None
