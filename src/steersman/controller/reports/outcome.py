"""How a reconcile ended, as types, and which failure means which end."""

import asyncio
from typing import TypeAlias

from msgspec import Struct

from steersman.controller.run.claims import is_field_conflict
from steersman.errors import Blocked, Conflict, DeclarationError, LeadershipLost, NotFound, Permanent, Retry, text_of
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, resource_of


class Done(Struct, frozen=True):
    """It succeeded, or there is nothing to do."""

    #: Seconds after which it shall run again, if the author asked for it.
    again_after: float | None = None


class RetryLater(Struct, frozen=True):
    """The author, or something expected, asks for another try: no error, with its own delay or the usual back-off."""

    reason: str
    after: float | None = None


class Outdated(Struct, frozen=True):
    """It worked on an object that has changed meanwhile: try again at once with a fresh one."""

    error: Conflict


class GaveUp(Struct, frozen=True):
    """Trying again is of no use until the object changes."""

    reason: str
    message: str


class Waiting(Struct, frozen=True):
    """Trying again is of no use until another object appears or changes."""

    reason: str
    message: str
    kind: type[KubeObject]
    key: ObjectKey
    #: Seconds after which it is tried again in any case.
    recheck: float


class Failed(Struct, frozen=True):
    """Something went wrong: try again with back-off."""

    error: BaseException

    @property
    def is_timeout(self) -> bool:
        """Whether it took longer than it may."""
        return isinstance(self.error, TimeoutError)


class Stopped(Struct, frozen=True):
    """This process no longer leads: whoever does will do the work."""


Outcome: TypeAlias = Done | RetryLater | Outdated | GaveUp | Waiting | Failed | Stopped


def outcome_of(error: BaseException, resource: ApiResource, key: ObjectKey) -> Outcome:
    """Return what a failure of a reconcile means for the object of that key."""
    match error:
        case Retry():
            return RetryLater(text_of(error), error.after)
        case Permanent():
            return GaveUp(error.reason, error.message)
        case Blocked():
            return _waiting(error, key)
        case NotFound() if _is_itself(error, resource, key):
            # It went while it was being worked on.
            return Done()
        case Conflict() if not is_field_conflict(error):
            return Outdated(error)
        case LeadershipLost():
            return Stopped()
        case asyncio.CancelledError():
            return Failed(RuntimeError("the task of the reconciler was cancelled, but the operator is not stopping"))
        case _:
            return Failed(error)


def _waiting(error: Blocked, key: ObjectKey) -> Outcome:
    try:
        namespaced = resource_of(error.kind).namespaced
    except DeclarationError as mistake:
        return Failed(mistake)
    namespace = key.namespace if error.namespace is None else error.namespace
    awaited = ObjectKey(namespace if namespaced else "", error.name)
    return Waiting(error.reason, error.message, error.kind, awaited, error.recheck)


def _is_itself(error: NotFound, resource: ApiResource, key: ObjectKey) -> bool:
    names = {resource.gvk.kind, resource.plural}
    return error.name == key.name and error.group == resource.gvk.group and error.kind in names
