"""Connects to members of a replica set, one at a time, with the credentials that members use among themselves.

The keyfile authenticates as ``__system``, which may do everything at any member: also before there is a user, and after
all of them were lost. Every operation belongs to a class with a time limit of its own (`Limit`): a question must be
answered soon, an index build may take hours.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from pymongo import AsyncMongoClient
from pymongo.errors import AutoReconnect, NetworkTimeout, OperationFailure, PyMongoError, ServerSelectionTimeoutError
from steersman import Context, SteersmanError
from steersman.clock import RealClock
from steersman.concurrency import cleanup

from mgors.members import NotAuthorised, Refused, TimedOut

Mongo: TypeAlias = AsyncMongoClient[dict[str, Any]]
T = TypeVar("T")

#: Milliseconds to connect to a member.
CONNECT_MS = 2_000
#: Seconds that a connection has to close.
_CLOSE = 5.0
#: The driver's time is real, whatever the operator's is.
_CLOCK = RealClock()
#: Server errors: Unauthorized, AuthenticationFailed; ShutdownInProgress, InterruptedAtShutdown.
_UNAUTHORISED, _SHUTTING_DOWN = (13, 18), (91, 11600)


class Limit(Enum):
    """Milliseconds that one operation may take, by its class."""

    ASK = 5_000
    CHANGE = 30_000
    #: Steps of dumps and restores: index builds, copies inside the server, batches that a majority acknowledges.
    BULK = 3_600_000


class MemberError(SteersmanError):
    """A member did not do what it was asked for. ``how`` tells whether it was reached."""

    def __init__(self, message: str, how: Refused | TimedOut | NotAuthorised | None = None) -> None:
        """Create the error; ``how`` is ``None`` if the member answered."""
        super().__init__(message)
        self.how = how


class ExternalWrite(Protocol):
    """Carries out a change outside of the API server: `Context.external_write`, for one system."""

    async def __call__(self, description: str, write: Callable[[], Awaitable[T]], /) -> T:
        """Carry it out if this process leads; ``description`` must not contain secrets."""


async def unfenced(_: str, write: Callable[[], Awaitable[T]], /) -> T:
    """Carry it out in any case: for tools and tests, which have no leadership to lose."""
    return await write()


def fenced(ctx: Context[Any]) -> ExternalWrite:
    """Return what carries out the changes of one reconcile."""

    async def write_to_mongodb(description: str, write: Callable[[], Awaitable[T]], /) -> T:
        return await ctx.external_write("mongodb", description, write)

    return write_to_mongodb


#: Returns the address to dial for a member's host; where a proxy or a port-forward is in between, it is another one.
Dial: TypeAlias = Callable[[str], str]


def directly(host: str) -> str:
    """Dial the host itself."""
    return host


@dataclass(frozen=True, slots=True)
class Member:
    """A connected member. ``mongo`` is for questions; changes go through `order` and `change`."""

    mongo: Mongo
    host: str
    _write: ExternalWrite

    async def order(self, command: dict[str, Any], db: str = "admin") -> None:
        """Run a command that changes something."""
        await self.change(_described(command), partial(self.mongo[db].command, command))

    async def change(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that changes something."""
        return await self._write(f"{what} at {self.host}", work)


@dataclass(frozen=True, slots=True)
class Connector:
    """Connects to the members of one replica set."""

    keyfile: str = field(repr=False)
    write: ExternalWrite = unfenced
    dial: Dial = directly

    @asynccontextmanager
    async def member(self, host: str, limit: Limit = Limit.CHANGE) -> AsyncIterator[Member]:
        """Connect to one member, whatever its state. Errors of the driver are raised as `MemberError`."""
        client: Mongo = AsyncMongoClient(
            self.dial(host),
            directConnection=True,
            username="__system",
            password=self.keyfile,
            authSource="local",
            authMechanism="SCRAM-SHA-256",
            appname="mgors",
            serverSelectionTimeoutMS=CONNECT_MS,
            connectTimeoutMS=CONNECT_MS,
            socketTimeoutMS=limit.value,
        )
        try:
            yield Member(client, host, self.write)
        except PyMongoError as error:
            # The driver appends the server's whole answer to its message.
            raise MemberError(f"{host}: {str(error).partition(', full error')[0]}", reason_of(error)) from error
        finally:
            # The driver has tasks of its own; cancelled while it closes, it would leave them behind.
            await cleanup(client.close(), clock=_CLOCK, within=_CLOSE)


def reason_of(error: PyMongoError) -> Refused | TimedOut | NotAuthorised | None:
    """Return how a member failed to answer; ``None`` if it answered with an error of its own."""
    text = str(error).partition(", full error")[0]
    match error:
        case OperationFailure(code=code):
            if code in _UNAUTHORISED:
                return NotAuthorised(text)
            return Refused(text) if code in _SHUTTING_DOWN else None
        case ServerSelectionTimeoutError():
            # The driver tries until its time is over; what it met last is in the text.
            return Refused(text) if "refused" in text else TimedOut(text)
        case NetworkTimeout():
            return TimedOut(text)
        case AutoReconnect():
            return Refused(text)
        case _:
            return None


def _described(command: dict[str, Any]) -> str:
    """Return what a command does, without secrets: its name, and its collection, user or version."""
    name, about = next(iter(command.items()))
    match about:
        case str():
            return f"{name} {about}"
        case {"version": version}:
            return f"{name} {version}"
        case _:
            return name
