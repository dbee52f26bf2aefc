"""Columns of pods and pod templates."""

from datetime import datetime

from steersman.apiserver.builtin.common.cells import NONE, at, column, containers, created, field, images, labels_text
from steersman.apiserver.resources.columns import NAME, Column, age
from steersman.json_types import JsonObject


def _is_sidecar(obj: JsonObject, status: JsonObject) -> bool:
    specs = {part["name"]: part for part in at(obj, "spec", "initContainers", default=())}
    return bool(specs.get(status.get("name", ""), {}).get("restartPolicy") == "Always")


def _init_reason(obj: JsonObject, status: JsonObject, index: int, total: int) -> str | None:
    """Return why an init container blocks the pod; ``None`` when it does not."""
    state = status.get("state") or {}
    ended, waiting = state.get("terminated"), state.get("waiting")
    if ended is not None and ended.get("exitCode", 0) == 0:
        return None
    if _is_sidecar(obj, status) and status.get("started"):
        return None
    if ended is not None:
        return f"Init:{_terminated_reason(ended)}"
    if waiting is not None and waiting.get("reason", "PodInitializing") not in ("", "PodInitializing"):
        return f"Init:{waiting['reason']}"
    return f"Init:{index}/{total}"


def _terminated_reason(ended: JsonObject) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _container_reason(obj: JsonObject, reason: str) -> str:
    has_running = False
    for status in reversed(at(obj, "status", "containerStatuses", default=[])):
        state = status.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _terminated_reason(ended)
        elif status.get("ready") and state.get("running") is not None:
            has_running = True
    if reason == "Completed" and has_running:
        ready = any(
            item.get("type") == "Ready" and item.get("status") == "True"
            for item in at(obj, "status", "conditions", default=())
        )
        return "Running" if ready else "NotReady"
    return reason


def pod_status(obj: JsonObject, _now: datetime) -> str:
    """Return the status of a pod in one word."""
    reason: str = at(obj, "status", "reason") or at(obj, "status", "phase", default="")
    for item in at(obj, "status", "conditions", default=()):
        if item.get("type") == "PodScheduled" and item.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    statuses = at(obj, "status", "initContainerStatuses", default=[])
    total = len(at(obj, "spec", "initContainers", default=()))
    held = next(
        (found for index, status in enumerate(statuses) if (found := _init_reason(obj, status, index, total))), None
    )
    reason = held if held is not None else _container_reason(obj, reason)
    if at(obj, "metadata", "deletionTimestamp"):
        return "Unknown" if at(obj, "status", "reason") == "NodeLost" else "Terminating"
    return reason


def _counted_containers(obj: JsonObject) -> list[JsonObject]:
    sidecars = [status for status in at(obj, "status", "initContainerStatuses", default=()) if _is_sidecar(obj, status)]
    return [*sidecars, *at(obj, "status", "containerStatuses", default=())]


def _ready(obj: JsonObject, _now: datetime) -> str:
    total = len(at(obj, "spec", "containers", default=()))
    total += sum(part.get("restartPolicy") == "Always" for part in at(obj, "spec", "initContainers", default=()))
    ready = sum(
        bool(status.get("ready")) and (status.get("state") or {}).get("running") is not None
        for status in _counted_containers(obj)
    )
    return f"{ready}/{total}"


def _blocking_init_containers(obj: JsonObject) -> list[JsonObject]:
    """Return the init containers up to the one that blocks the pod; empty when none does."""
    statuses: list[JsonObject] = at(obj, "status", "initContainerStatuses", default=[])
    for index, status in enumerate(statuses):
        if _init_reason(obj, status, index, len(statuses)) is not None:
            return statuses[: index + 1]
    return []


def _restarts(obj: JsonObject, now: datetime) -> str:
    statuses = _blocking_init_containers(obj) or _counted_containers(obj)
    count = sum(status.get("restartCount", 0) for status in statuses)
    times = [at(status, "lastState", "terminated", "finishedAt") for status in statuses]
    newest = max((time for time in times if time), default=None)
    return f"{count} ({age(newest, now)} ago)" if count and newest else str(count)


def _readiness_gates(obj: JsonObject, _now: datetime) -> str:
    gates = at(obj, "spec", "readinessGates", default=())
    if not gates:
        return NONE
    true = {item["type"] for item in at(obj, "status", "conditions", default=()) if item.get("status") == "True"}
    return f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}"


def _address(obj: JsonObject, _now: datetime) -> str:
    addresses = at(obj, "status", "podIPs", default=())
    return addresses[0].get("ip", NONE) if addresses else NONE


POD: tuple[Column, ...] = (
    NAME,
    column("Ready", _ready),
    column("Status", pod_status),
    column("Restarts", _restarts),
    column("Age", created),
    column("IP", _address, wide=True),
    column("Node", field("spec", "nodeName", default=NONE), wide=True),
    column("Nominated Node", field("status", "nominatedNodeName", default=NONE), wide=True),
    column("Readiness Gates", _readiness_gates, wide=True),
)


def _template_labels(obj: JsonObject, _now: datetime) -> str:
    return labels_text(at(obj, "template", "metadata", "labels"))


POD_TEMPLATE = (
    NAME,
    column("Containers", containers("template")),
    column("Images", images("template")),
    column("Pod Labels", _template_labels),
)
