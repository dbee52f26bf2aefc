"""Whether an object has become what its spec asks for, by the rules of its kind. Pure.

The rules are those that people apply by hand: a Deployment is ready when all its replicas are of the current version
and available, a Job when it has completed, a claim when it is bound. Other kinds are judged by the conditions Stalled,
Reconciling and Ready of kstatus. What cannot be known is whether a kind without any of them is still being worked on:
it counts as ready.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from steersman.json_types import JsonObject


class Readiness(NamedTuple):
    """Whether an object is ready, and if not, why."""

    is_ready: bool
    message: str = ""


READY = Readiness(is_ready=True)

#: Judges a spec and a status.
_Rule: TypeAlias = Callable[[JsonObject, JsonObject], Readiness]


def readiness(obj: JsonObject, *, condition: str = "", has_conditions: bool = False) -> Readiness:
    """Return whether an object is ready; with ``condition``, whether it has that condition, and no other rule counts.

    ``has_conditions`` is true for a kind whose controller sets Ready: without that condition it is not ready yet.
    """
    metadata, status = obj.get("metadata") or {}, obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return _not("is being deleted")
    generation, observed = metadata.get("generation") or 0, status.get("observedGeneration")
    if observed is not None and observed < generation:
        return _not(f"generation {generation} was not seen by its controller yet")
    if condition:
        return _condition(status, condition)
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    rule = _RULES.get((group, str(obj.get("kind", ""))))
    if rule is not None:
        return rule(obj.get("spec") or {}, status)
    return _first(_by_conditions(status), _condition(status, "Ready") if has_conditions else READY)


def _not(message: str) -> Readiness:
    return Readiness(is_ready=False, message=message)


def _find(status: JsonObject, type_: str) -> JsonObject:
    found: JsonObject = next((one for one in status.get("conditions") or () if one.get("type") == type_), {})
    return found


def _condition(status: JsonObject, type_: str) -> Readiness:
    found = _find(status, type_)
    if not found:
        return _not(f"has no condition {type_} yet")
    if found.get("status") == "True":
        return READY
    return _not(f"{type_} is {found.get('status')}: {found.get('message') or found.get('reason') or 'no reason'}")


def _by_conditions(status: JsonObject) -> Readiness:
    for type_ in ("Stalled", "Reconciling"):
        found = _find(status, type_)
        if found.get("status") == "True":
            return _not(f"{type_}: {found.get('message') or found.get('reason') or 'no reason'}")
    return _condition(status, "Ready") if _find(status, "Ready") else READY


def _enough(status: JsonObject, field: str, wanted: int, what: str) -> Readiness:
    have = status.get(field) or 0
    return READY if have >= wanted else _not(f"{have} of {wanted} {what}")


def _first(*parts: Readiness) -> Readiness:
    return next((part for part in parts if not part.is_ready), READY)


def _wanted(spec: JsonObject) -> int:
    replicas: int | None = spec.get("replicas")
    return 1 if replicas is None else replicas


def _deployment(spec: JsonObject, status: JsonObject) -> Readiness:
    if status.get("observedGeneration") is None:
        return _not("has no status yet")
    wanted, progress = _wanted(spec), _find(status, "Progressing")
    if progress.get("reason") == "ProgressDeadlineExceeded":
        return _not(progress.get("message") or "its rollout exceeded the deadline")
    old = (status.get("replicas") or 0) - (status.get("updatedReplicas") or 0)
    return _first(
        _enough(status, "updatedReplicas", wanted, "replicas are up to date"),
        _not(f"{old} old replicas still run") if old > 0 else READY,
        _enough(status, "availableReplicas", wanted, "replicas are available"),
    )


def _stateful_set(spec: JsonObject, status: JsonObject) -> Readiness:
    if status.get("observedGeneration") is None:
        return _not("has no status yet")
    wanted, strategy = _wanted(spec), spec.get("updateStrategy") or {}
    ready = _enough(status, "readyReplicas", wanted, "replicas are ready")
    if strategy.get("type") == "OnDelete":
        return ready
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    current = status.get("currentRevision") == status.get("updateRevision")
    updated = _enough(status, "updatedReplicas", max(wanted - partition, 0), "replicas are up to date")
    return _first(ready, READY if current and not partition else updated)


def _replica_set(spec: JsonObject, status: JsonObject) -> Readiness:
    return _enough(status, "availableReplicas", _wanted(spec), "replicas are available")


def _daemon_set(_: JsonObject, status: JsonObject) -> Readiness:
    if status.get("observedGeneration") is None:
        return _not("has no status yet")
    wanted = status.get("desiredNumberScheduled") or 0
    return _first(
        _enough(status, "updatedNumberScheduled", wanted, "pods are up to date"),
        _enough(status, "numberAvailable", wanted, "pods are available"),
    )


def _job(_: JsonObject, status: JsonObject) -> Readiness:
    failed = _find(status, "Failed")
    if failed.get("status") == "True":
        return _not(f"failed: {failed.get('message') or failed.get('reason') or 'no reason'}")
    return READY if _find(status, "Complete").get("status") == "True" else _not("has not completed yet")


def _pod(_: JsonObject, status: JsonObject) -> Readiness:
    phase = status.get("phase") or "Pending"
    if phase == "Succeeded":
        return READY
    if phase != "Running":
        reason = status.get("message") or status.get("reason") or _find(status, "PodScheduled").get("message")
        return _not(f"is {phase}{f': {reason}' if reason else ''}")
    return _condition(status, "Ready")


def _phase(wanted: str) -> _Rule:
    def rule(_: JsonObject, status: JsonObject) -> Readiness:
        phase = status.get("phase") or "without a phase"
        return READY if phase == wanted else _not(f"is {phase}, not {wanted}")

    return rule


def _service(spec: JsonObject, status: JsonObject) -> Readiness:
    if spec.get("type") != "LoadBalancer" or (status.get("loadBalancer") or {}).get("ingress"):
        return READY
    return _not("has no address of a load balancer yet")


def _has(type_: str) -> _Rule:
    return lambda _, status: _condition(status, type_)


_RULES: dict[tuple[str, str], _Rule] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _phase("Bound"),
    ("", "Namespace"): _phase("Active"),
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _has("Established"),
    ("apiregistration.k8s.io", "APIService"): _has("Available"),
}
