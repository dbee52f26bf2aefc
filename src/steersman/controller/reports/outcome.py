"""How a run ended, as types, and which exception means which outcome."""

import asyncio
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from steersman.errors import (
    ApiError,
    Blocked,
    Conflict,
    DeclarationError,
    LeadershipLost,
    NotFound,
    NotReady,
    Permanent,
    Retry,
    text_of,
)
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, resource_of


class Done(Struct, frozen=True):
    """The run succeeded, or there was nothing to do."""

    #: Seconds until the next run that the author asked for.
    again_after: float | None = None


class RetryLater(Struct, frozen=True):
    """The author asked for a retry (``Retry``), with a delay of its own or the usual back-off. Not an error."""

    reason: str
    after: float | None = None


class Outdated(Struct, frozen=True):
    """The run worked on an object that has changed since: retry at once with the current one."""

    error: Conflict


class GaveUp(Struct, frozen=True):
    """A retry cannot help until the object changes (``Permanent``)."""

    reason: str
    message: str


class Waiting(Struct, frozen=True):
    """A retry cannot help until another object appears or changes (``Blocked``)."""

    reason: str
    message: str
    kind: type[KubeObject]
    key: ObjectKey
    #: Seconds until a retry in any case.
    recheck: float
    #: Whether waiting is the usual course of things (``NotReady``): without an event.
    is_quiet: bool = False
    #: Resource version that was not ready: only a newer one wakes the key. Empty if none was seen.
    seen: str = ""


class Failed(Struct, frozen=True):
    """The run failed: retry with back-off."""

    error: BaseException

    @property
    def is_timeout(self) -> bool:
        """Whether the run exceeded its time limit."""
        return isinstance(self.error, TimeoutError)


class Paused(Struct, frozen=True):
    """The object is paused by its annotation: the author's function was not called."""

    message: str
    #: Seconds until the pause ends; ``None`` if it has no end.
    again_after: float | None


class Stopped(Struct, frozen=True):
    """This process no longer leads: the new leader does the work."""


Outcome: TypeAlias = Done | RetryLater | Outdated | GaveUp | Waiting | Failed | Paused | Stopped


def outcome_of(error: BaseException, resource: ApiResource, key: ObjectKey) -> Outcome:
    """Return the outcome that an exception of a run means for the object of that key."""
    match error:
        case Retry():
            return RetryLater(text_of(error), error.after)
        case Permanent():
            return GaveUp(error.reason, error.message)
        case Blocked():
            return _waiting(error, key)
        case NotFound() if _is_itself(error, resource, key):
            # The object was deleted during the run.
            return Done()
        case Conflict() if not is_field_conflict(error):
            return Outdated(error)
        case LeadershipLost():
            return Stopped()
        case asyncio.CancelledError():
            return Failed(RuntimeError("the task of the reconciler was cancelled, but the operator is not stopping"))
        case _:
            return Failed(error)


def is_field_conflict(error: ApiError) -> bool:
    """Return whether another manager owns a field that was to be applied without force."""
    return any(cause.reason == "FieldManagerConflict" for cause in error.causes)


def _waiting(error: Blocked, key: ObjectKey) -> Outcome:
    try:
        namespaced = resource_of(error.kind).namespaced
    except DeclarationError as mistake:
        return Failed(mistake)
    namespace = key.namespace if error.namespace is None else error.namespace
    awaited = ObjectKey(namespace if namespaced else "", error.name)
    waiting = Waiting(error.reason, error.message, error.kind, awaited, error.recheck)
    return replace(waiting, is_quiet=True, seen=error.version) if isinstance(error, NotReady) else waiting


def _is_itself(error: NotFound, resource: ApiResource, key: ObjectKey) -> bool:
    names = {resource.gvk.kind, resource.plural}
    return error.name == key.name and error.group == resource.gvk.group and error.kind in names
