"""Waiting for objects: until a condition holds, until they are deleted, until a CRD is served."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from steersman.client.interfaces import O, Ref
from steersman.client.session import Kind, Session, Target, described, kind_of
from steersman.client.watching import Watcher
from steersman.errors import DeclarationError, InternalError, NotFound, ServiceUnavailable, TooManyRequests, WaitTimeout
from steersman.json_types import JsonObject
from steersman.objects.codec import to_json
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.options import ListOptions
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of
from steersman.protocol.watch_frames import Applied, Deleted

_CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
#: Seconds between checks whether a new kind can be listed; servers need about 50 ms.
_CHECK_INTERVAL = 0.05


def has_condition(type_: str, status: str = "True") -> Callable[[KubeObject | Unstructured], bool]:
    """Return a condition for ``wait_for``: the object's status has a condition of that type and status."""

    def holds(obj: KubeObject | Unstructured) -> bool:
        return _conditions(to_json(obj)).get(type_, {}).get("status") == status

    holds.__name__ = f"{type_}={status}"
    return holds


def _conditions(document: JsonObject) -> dict[str, JsonObject]:
    """Return the conditions in the status of a document, by type."""
    return {item["type"]: item for item in (document.get("status") or {}).get("conditions") or ()}


class _LastSeen:
    """The last state that a wait saw, for the message of its timeout."""

    def __init__(self, waiting_for: str) -> None:
        self.waiting_for = waiting_for
        self.state = "nothing was seen"


async def wait_for(session: Session, target: O | Ref[O], condition: Callable[[O], bool], within: float | None) -> O:
    """Wait until an object exists and meets a condition."""
    last = _LastSeen(f"{described(target)} to meet {getattr(condition, '__name__', 'its condition')}")
    async with _limit(session, within, last), await _watch_one(session, target) as events:
        async for event in events:
            match event:
                case Applied(object=obj):
                    if condition(obj):
                        met: O = obj
                        return met
                    last.state = f"version {obj.resource_version} did not"
                case Deleted():
                    last.state = "it was deleted"
    raise AssertionError("a watch never ends by itself")


async def wait_deleted(session: Session, target: Target, within: float | None) -> None:
    """Wait until an object does not exist any more, or another one has its name."""
    last = _LastSeen(f"{described(target)} to be deleted")
    uid = "" if isinstance(target, Ref) else target.uid
    async with _limit(session, within, last), await _watch_one(session, target) as events:
        present = await events.initial()
        if not present or (uid and present[0].uid != uid):
            return
        last.state = f"it exists at version {present[0].resource_version}"
        async for event in events:
            if isinstance(event, Deleted) or (uid and event.object.uid != uid):
                return
            last.state = f"it exists at version {event.object.resource_version}"


async def wait_established(session: Session, name: str, within: float | None) -> None:
    """Wait until a custom resource definition is established and its objects can be listed."""
    last = _LastSeen(f"CustomResourceDefinition {name} to be established")
    async with _limit(session, within, last):
        definition = await _established(session, name, last)
        for requests in _served(definition):
            await _listable(session, requests, last)


async def _established(session: Session, name: str, last: _LastSeen) -> JsonObject:
    async with Watcher[Unstructured](session, _CRD, None, _only(name)) as events:
        async for event in events:
            content = event.object.content
            conditions = _conditions(content)
            names = conditions.get("NamesAccepted", {})
            if names.get("status") == "False":
                raise DeclarationError(
                    f"CustomResourceDefinition {name}: the server does not accept its names: {names.get('message')}"
                )
            if isinstance(event, Applied) and conditions.get("Established", {}).get("status") == "True":
                return content
            last.state = "it was deleted" if isinstance(event, Deleted) else "it is not established yet"
    raise AssertionError("a watch never ends by itself")


def _served(definition: JsonObject) -> list[Requests]:
    """Return the request builders of every version that a CRD serves without a webhook.

    Versions that a webhook converts are omitted: the webhook may start only later.
    """
    spec = definition["spec"]
    is_converted = (spec.get("conversion") or {}).get("strategy") == "Webhook"
    return [
        Requests(
            ApiResource(
                gvk=GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"]),
                plural=spec["names"]["plural"],
                namespaced=spec["scope"] == "Namespaced",
            )
        )
        for version in spec["versions"]
        if version.get("served") and (not is_converted or version["storage"])
    ]


async def _listable(session: Session, requests: Requests, last: _LastSeen) -> None:
    """Wait until the list is served: it is not for some milliseconds after ``Established``."""
    while True:
        try:
            # Not through the session, which would call discovery after each 404.
            body_of(await session.transport.request(requests.list("", ListOptions(limit=1))))
        except (NotFound, TooManyRequests, ServiceUnavailable) as error:
            last.state = f"established, but cannot be listed: {error}"
            await session.clock.sleep(_CHECK_INTERVAL)
        except InternalError as error:
            # Objects stored in a former version need the conversion webhook; the list itself is served.
            if not error.message.startswith("conversion webhook"):
                raise
            return
        else:
            return


# Shared by all waits.


def _only(name: str) -> ListWatchSettings:
    return ListWatchSettings(field_selector=f"metadata.name={name}")


async def _watch_one(session: Session, target: Target) -> Watcher[Any]:
    kind: Kind = target.kind if isinstance(target, Ref) else kind_of(target)
    _, key = await session.locate(target)
    return Watcher(session, kind, key.namespace or None, _only(key.name))


@asynccontextmanager
async def _limit(session: Session, within: float | None, last: _LastSeen) -> AsyncIterator[None]:
    try:
        async with session.clock.timeout(within):
            yield
    except TimeoutError:
        raise WaitTimeout(f"waited {within or 0:g} s for {last.waiting_for}: {last.state}") from None
