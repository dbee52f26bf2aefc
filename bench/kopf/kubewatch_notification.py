"""Notifications and outboxes of the operator that is written with kopf (kubewatch.py)."""

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

#: Maximum number of pending notifications; beyond that the oldest is given up.
LIMIT = 10_000
REDACTED = "REDACTED"
#: Annotation in which kubectl stores a copy of the applied object.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PAST = {"create": "created", "update": "updated", "delete": "deleted"}

Subject = tuple[str, str, str, str]


def now() -> str:
    """Return the time in the format of Kubernetes."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Notification:
    """One change of one object, or several merged into one."""

    event: str
    obj: dict[str, Any]
    old: dict[str, Any] | None = None
    time: str = field(default_factory=now)

    @property
    def subject(self) -> Subject:
        """Identity of the object."""
        metadata = self.obj["metadata"]
        return self.obj["apiVersion"], self.obj["kind"], metadata.get("namespace", ""), metadata["name"]

    @property
    def text(self) -> str:
        """One sentence for users."""
        _, kind, namespace, name = self.subject
        return f"{kind} {name}{f' in namespace {namespace}' if namespace else ''} has been {PAST[self.event]}"

    def then(self, later: "Notification") -> "Notification":
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


def is_wanted(notification: Notification, resource: dict[str, Any]) -> bool:
    """Return whether a notification matches the filters of a watched resource."""
    if resource.get("events") and notification.event not in resource["events"]:
        return False
    part = resource.get("updateOn", "any")
    if notification.event != "update" or notification.old is None or part == "any":
        return True
    return part_of(notification.old, part) != part_of(notification.obj, part)


def part_of(document: dict[str, Any], part: str) -> object:
    """Return the status, or everything but metadata and status: not every kind has a spec."""
    if part == "status":
        return document.get("status")
    return {name: value for name, value in document.items() if name not in ("metadata", "status")}


def redacted(document: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the values of a Secret, wherever they appear."""
    if (document["apiVersion"], document["kind"]) != ("v1", "Secret"):
        return document
    document = deepcopy(document)
    for part in ("data", "stringData"):
        if document.get(part):
            document[part] = dict.fromkeys(document[part], REDACTED)
    annotations = document["metadata"].get("annotations", {})
    if LAST_APPLIED in annotations:
        annotations[LAST_APPLIED] = REDACTED
    return document


class Outbox:
    """Pending notifications of one handler, oldest first: at most one for each object."""

    def __init__(self) -> None:
        """Create an empty outbox."""
        self._letters: dict[Subject, Notification] = {}
        self._waiting = asyncio.Event()

    def put(self, notification: Notification) -> Notification | None:
        """Add a notification, merged with a pending one of the same object; return one that had to be given up."""
        before = self._letters.get(notification.subject)
        self._letters[notification.subject] = before.then(notification) if before else notification
        self._waiting.set()
        return self._letters.pop(next(iter(self._letters))) if len(self._letters) > LIMIT else None

    def put_back(self, notification: Notification) -> None:
        """Put a failed notification back in front."""
        later = self._letters.pop(notification.subject, None)
        first = notification.then(later) if later else notification
        self._letters = {notification.subject: first, **self._letters}
        self._waiting.set()

    async def take(self) -> Notification:
        """Wait for a notification, remove and return it."""
        while not self._letters:
            self._waiting.clear()
            await self._waiting.wait()
        return self._letters.pop(next(iter(self._letters)))
