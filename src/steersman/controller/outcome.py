"""How a reconcile ended, as types, and which failure means which end."""

import asyncio
from typing import TypeAlias

from msgspec import Struct

from steersman.errors import Conflict, LeadershipLost, NotFound, Permanent, Retry
from steersman.objects.identity import ApiResource, ObjectKey


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


class Failed(Struct, frozen=True):
    """Something went wrong: try again with back-off."""

    error: BaseException

    @property
    def is_timeout(self) -> bool:
        """Whether it took longer than it may."""
        return isinstance(self.error, TimeoutError)


class Stopped(Struct, frozen=True):
    """This process no longer leads: whoever does will do the work."""


Outcome: TypeAlias = Done | RetryLater | Outdated | GaveUp | Failed | Stopped


def outcome_of(error: BaseException, resource: ApiResource, key: ObjectKey) -> Outcome:
    """Say what a failure of a reconcile means for the object of that key."""
    match error:
        case Retry():
            return RetryLater(str(error), error.after)
        case Permanent():
            return GaveUp(error.reason, error.message)
        case NotFound() if _is_itself(error, resource, key):
            # It went while it was being worked on.
            return Done()
        case Conflict():
            return Outdated(error)
        case LeadershipLost():
            return Stopped()
        case asyncio.CancelledError():
            return Failed(RuntimeError("the reconciler cancelled itself"))
        case _:
            return Failed(error)


def _is_itself(error: NotFound, resource: ApiResource, key: ObjectKey) -> bool:
    names = {resource.gvk.kind, resource.plural}
    return error.name == key.name and error.group == resource.gvk.group and error.kind in names
