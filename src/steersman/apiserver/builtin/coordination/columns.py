"""Columns of Events and Leases."""

from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, at, column, field, name
from steersman.apiserver.resources.columns import NAME, Column, age
from steersman.json_types import JsonObject


def _event_time(obj: JsonObject, now: datetime) -> str:
    series = at(obj, "series", "lastObservedTime")
    time = series or obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or obj.get("eventTime")
    return age(time, now)


def _event_first(obj: JsonObject, now: datetime) -> str:
    return age(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"), now)


def _event_count(obj: JsonObject, _now: datetime) -> int:
    count = at(obj, "series", "count") or obj.get("count") or obj.get("deprecatedCount")
    return int(count or 1)


def _regarding(obj: JsonObject) -> JsonObject:
    about: JsonObject = obj.get("involvedObject") or obj.get("regarding") or {}
    return about


def _event_object(obj: JsonObject, _now: datetime) -> str:
    about = _regarding(obj)
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _event_source(obj: JsonObject, _now: datetime) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _event_message(obj: JsonObject, _now: datetime) -> str:
    return (obj.get("message") or obj.get("note") or "").strip()


EVENT = (
    column("Last Seen", _event_time),
    column("Type", field("type")),
    column("Reason", field("reason")),
    column("Object", _event_object),
    column("Subobject", lambda obj, _: _regarding(obj).get("fieldPath", ""), wide=True),
    column("Source", _event_source, wide=True),
    column("Message", _event_message),
    column("First Seen", _event_first, wide=True),
    column("Count", _event_count, wide=True),
    Column("Name", name, format="name", description=NAME.description, priority=1),
)
LEASE = (NAME, column("Holder", field("spec", "holderIdentity")), AGE)
