"""Whether an object is ready, as far as its own status tells."""

from steersman.json_types import JsonObject

#: Conditions of readiness; the first that an object has counts.
_CONDITIONS = ("Ready", "Available", "Complete", "Established")
#: Kinds whose conditions say less than their numbers: they are available long before everything is ready.
_BY_NUMBER = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})


def is_ready(obj: JsonObject) -> bool | None:
    """Return whether an object is ready; ``None`` if its status does not tell."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    if status.get("phase") == "Succeeded":
        return True
    spec = obj.get("spec")
    if obj.get("kind") in _BY_NUMBER and isinstance(spec, dict):  # a count of zero is left out of a status
        return bool(_is_current(obj, status) and status.get("readyReplicas", 0) == spec.get("replicas", 1))
    if "numberReady" in status:
        return bool(_is_current(obj, status) and status["numberReady"] == status.get("desiredNumberScheduled"))
    return _by_condition(status)


def _is_current(obj: JsonObject, status: JsonObject) -> bool:
    """Return whether the status speaks of the newest spec."""
    generation = obj.get("metadata", {}).get("generation")
    return bool(generation is None or status.get("observedGeneration", generation) == generation)


def _by_condition(status: JsonObject) -> bool | None:
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return None
    found = {one.get("type"): one.get("status") for one in conditions if isinstance(one, dict)}
    for name in _CONDITIONS:
        if name in found:
            return bool(found[name] == "True")
    return None
