"""What is told by the operator that is written with kopf (kubewatch.py): which changes count, and what waits."""

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

#: Objects that one handler may be behind; beyond that the oldest notification is given up.
LIMIT = 10_000
REDACTED = "REDACTED"
#: Where kubectl keeps a copy of everything that was applied.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PAST = {"create": "created", "update": "updated", "delete": "deleted"}

Subject = tuple[str, str, str, str]


def now() -> str:
    """Give the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Notification:
    """One change of one object, or several of them in one."""

    event: str
    obj: dict[str, Any]
    old: dict[str, Any] | None = None
    time: str = field(default_factory=now)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        metadata = self.obj["metadata"]
        return self.obj["apiVersion"], self.obj["kind"], metadata.get("namespace", ""), metadata["name"]

    @property
    def text(self) -> str:
        """One sentence for people."""
        _, kind, namespace, name = self.subject
        return f"{kind} {name}{f' in namespace {namespace}' if namespace else ''} has been {PAST[self.event]}"

    def then(self, later: "Notification") -> "Notification":
        """Give one notification that says what two say, of which nobody has been told yet."""
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
    """Tell whether somebody who watches a resource wants to know."""
    if resource.get("events") and notification.event not in resource["events"]:
        return False
    part = resource.get("updateOn", "any")
    if notification.event != "update" or notification.old is None or part == "any":
        return True
    return part_of(notification.old, part) != part_of(notification.obj, part)


def part_of(document: dict[str, Any], part: str) -> object:
    """Give the status, or what users write: not every kind calls it spec."""
    if part == "status":
        return document.get("status")
    return {name: value for name, value in document.items() if name not in ("metadata", "status")}


def redacted(document: dict[str, Any]) -> dict[str, Any]:
    """Give an object without what must not be told: the values of a Secret, wherever they are written."""
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
    """What waits to be told to one handler, oldest first: at most one notification for each object."""

    def __init__(self) -> None:
        """Begin empty."""
        self._letters: dict[Subject, Notification] = {}
        self._waiting = asyncio.Event()

    def put(self, notification: Notification) -> Notification | None:
        """Add a notification, to one about the same object if it waits; give one that had to make room."""
        before = self._letters.get(notification.subject)
        self._letters[notification.subject] = before.then(notification) if before else notification
        self._waiting.set()
        return self._letters.pop(next(iter(self._letters))) if len(self._letters) > LIMIT else None

    def put_back(self, notification: Notification) -> None:
        """Put a notification in front that could not be delivered."""
        later = self._letters.pop(notification.subject, None)
        first = notification.then(later) if later else notification
        self._letters = {notification.subject: first, **self._letters}
        self._waiting.set()

    async def take(self) -> Notification:
        """Wait for a notification, and take it out."""
        while not self._letters:
            self._waiting.clear()
            await self._waiting.wait()
        return self._letters.pop(next(iter(self._letters)))
