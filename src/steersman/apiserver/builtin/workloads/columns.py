"""Columns of the kinds that create pods."""

from collections.abc import Callable
from datetime import datetime

from steersman.apiserver.builtin.common.cells import (
    AGE,
    NONE,
    UNSET,
    at,
    column,
    containers,
    field,
    images,
    labels,
    labels_text,
    length,
    selector,
)
from steersman.apiserver.resources.columns import NAME, age, human_duration
from steersman.json_types import JsonObject
from steersman.objects.times import parse_time

_TEMPLATE = ("spec", "template")
_WORKLOAD = (
    column("Containers", containers(*_TEMPLATE), wide=True),
    column("Images", images(*_TEMPLATE), wide=True),
)
_SELECTOR = column("Selector", selector("spec", "selector"), wide=True)


def _ready_of_wanted(ready: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[JsonObject, datetime], str]:
    def cell(obj: JsonObject, _now: datetime) -> str:
        return f"{at(obj, *ready, default=0)}/{at(obj, *wanted, default=0)}"

    return cell


def _job_status(obj: JsonObject, _now: datetime) -> str:
    conditions = at(obj, "status", "conditions", default=())
    true = {item.get("type") for item in conditions if item.get("status") == "True"}
    if at(obj, "metadata", "deletionTimestamp"):
        true.add("Terminating")
    order = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((name for name in order if name in true), "Running")


def _job_completions(obj: JsonObject, _now: datetime) -> str:
    done = at(obj, "status", "succeeded", default=0)
    wanted = at(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = at(obj, "spec", "parallelism", default=0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: JsonObject, now: datetime) -> str:
    start, end = at(obj, "status", "startTime"), at(obj, "status", "completionTime")
    if start is None:
        return ""
    until = parse_time(end) if end else now
    return human_duration((until - parse_time(start)).total_seconds())


def _suspend(obj: JsonObject, _now: datetime) -> str:
    value = at(obj, "spec", "suspend")
    return UNSET if value is None else str(value)


def _last_schedule(obj: JsonObject, now: datetime) -> str:
    time = at(obj, "status", "lastScheduleTime")
    return age(time, now) if time else NONE


def _node_selector(obj: JsonObject, _now: datetime) -> str:
    return labels_text(at(obj, *_TEMPLATE, "spec", "nodeSelector"))


REPLICA_SET = (
    NAME,
    column("Desired", field("spec", "replicas", default=0), type_="integer"),
    column("Current", field("status", "replicas", default=0), type_="integer"),
    column("Ready", field("status", "readyReplicas", default=0), type_="integer"),
    AGE,
    *_WORKLOAD,
    _SELECTOR,
)
REPLICATION_CONTROLLER = (*REPLICA_SET[:-1], column("Selector", labels("spec", "selector"), wide=True))
DEPLOYMENT = (
    NAME,
    column("Ready", _ready_of_wanted(("status", "readyReplicas"), ("spec", "replicas"))),
    column("Up-to-date", field("status", "updatedReplicas", default=0)),
    column("Available", field("status", "availableReplicas", default=0)),
    AGE,
    *_WORKLOAD,
    _SELECTOR,
)
STATEFUL_SET = (
    NAME,
    column("Ready", _ready_of_wanted(("status", "readyReplicas"), ("spec", "replicas"))),
    AGE,
    *_WORKLOAD,
)
DAEMON_SET = (
    NAME,
    column("Desired", field("status", "desiredNumberScheduled", default=0), type_="integer"),
    column("Current", field("status", "currentNumberScheduled", default=0), type_="integer"),
    column("Ready", field("status", "numberReady", default=0), type_="integer"),
    column("Up-to-date", field("status", "updatedNumberScheduled", default=0), type_="integer"),
    column("Available", field("status", "numberAvailable", default=0), type_="integer"),
    column("Node Selector", _node_selector),
    AGE,
    *_WORKLOAD,
    _SELECTOR,
)
JOB = (
    NAME,
    column("Status", _job_status),
    column("Completions", _job_completions),
    column("Duration", _job_duration),
    AGE,
    *_WORKLOAD,
    _SELECTOR,
)
CRON_JOB = (
    NAME,
    column("Schedule", field("spec", "schedule")),
    column("Timezone", field("spec", "timeZone", default=NONE)),
    column("Suspend", _suspend, type_="boolean"),
    column("Active", length("status", "active"), type_="integer"),
    column("Last Schedule", _last_schedule),
    AGE,
    column("Containers", containers("spec", "jobTemplate", *_TEMPLATE), wide=True),
    column("Images", images("spec", "jobTemplate", *_TEMPLATE), wide=True),
    column("Selector", selector("spec", "jobTemplate", "spec", "selector"), wide=True),
)


def _controller(obj: JsonObject, _now: datetime) -> str:
    for owner in at(obj, "metadata", "ownerReferences", default=()):
        if owner.get("controller"):
            group, slash, _ = owner["apiVersion"].partition("/")
            kind = owner["kind"].lower()
            return f"{kind}.{group}/{owner['name']}" if slash else f"{kind}/{owner['name']}"
    return NONE


CONTROLLER_REVISION = (
    NAME,
    column("Controller", _controller),
    column("Revision", field("revision", default=0)),
    AGE,
)
