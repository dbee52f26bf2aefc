"""Notifications: one change of one object. Pure functions decide which changes count and redact Secrets."""

from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from steersman import ObjectKey
from steersman.informer import Added, Change, Updated, record_of
from steersman.objects import decode_json

from kubewatch.api.watcher_v1 import Event, WatchedResource

Document: TypeAlias = dict[str, Any]

_REDACTED = "REDACTED"
#: Annotation in which kubectl stores a copy of the applied object.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PAST: dict[Event, str] = {"create": "created", "update": "updated", "delete": "deleted"}


@dataclass(frozen=True)
class Notification:
    """One change of one object, or several merged into one."""

    event: Event
    kind: str
    api_version: str
    key: ObjectKey
    uid: str
    version: str
    time: datetime
    #: The current object, or the last one before it was deleted.
    obj: Document
    #: The object before an update.
    old: Document | None = None

    @property
    def subject(self) -> tuple[str, str, ObjectKey]:
        """Identity of the object."""
        return (self.api_version, self.kind, self.key)

    @property
    def reason(self) -> str:
        """What happened, as a participle."""
        return _PAST[self.event]

    @property
    def text(self) -> str:
        """One sentence for users."""
        place = f" in namespace {self.key.namespace}" if self.key.namespace else ""
        return f"{self.kind} {self.key.name}{place} has been {self.reason}"

    def merge(self, later: "Notification") -> "Notification":
        """Return one notification for two consecutive changes that were not delivered yet."""
        match self.event, later.event:
            case "create", "update":
                return replace(later, event="create", old=None)
            case "update", "update":
                return replace(later, old=self.old)
            case "delete", "create":
                return replace(later, event="update", old=self.obj)
            case _:
                return later


def notification_of(change: Change, time: datetime, *, redact: bool) -> Notification | None:
    """Return the notification of a change; ``None`` for an object of the initial list or a resync."""
    event: Event = "delete"
    old: Document | None = None
    match change:
        case Added(is_initial=True) | Updated(is_resync=True):
            return None
        case Added():
            event = "create"
        case Updated(before):
            event, old = "update", _document(before.data, redact=redact)
    record = record_of(change)
    obj = _document(record.data, redact=redact)
    return Notification(
        event=event,
        kind=obj["kind"],
        api_version=obj["apiVersion"],
        key=record.key,
        uid=record.uid,
        version=record.resource_version,
        time=time,
        obj=obj,
        old=old,
    )


def is_wanted(notification: Notification, resource: WatchedResource) -> bool:
    """Return whether a notification matches the filters of a watched resource."""
    if resource.events and notification.event not in resource.events:
        return False
    if notification.event != "update" or notification.old is None or resource.update_on == "any":
        return True
    part = _status if resource.update_on == "status" else _spec
    return part(notification.old) != part(notification.obj)


def _status(document: Document) -> Any:
    return document.get("status")


def _spec(document: Document) -> Document:
    """Return everything but metadata and status: not every kind has a spec."""
    return {name: value for name, value in document.items() if name not in ("metadata", "status")}


def _document(data: bytes, *, redact: bool) -> Document:
    document: Document = decode_json(data)
    return redacted(document) if redact else document


def redacted(document: Document) -> Document:
    """Return an object without the values of a Secret, wherever they appear."""
    if document.get("kind") != "Secret" or document.get("apiVersion") != "v1":
        return document
    document = deepcopy(document)
    for part in ("data", "stringData"):
        if document.get(part):
            document[part] = dict.fromkeys(document[part], _REDACTED)
    annotations = document.get("metadata", {}).get("annotations") or {}
    if _LAST_APPLIED in annotations:
        annotations[_LAST_APPLIED] = _REDACTED
    return document
