"""Connect to members of a replica set, one at a time, with the credentials that members use among themselves.

The keyfile authenticates as ``__system``, which has all permissions on any member: also before there is a user, and
after all users were lost. Every operation belongs to a class with its own time limit (`Limit`): a query must return
soon, an index build may take hours.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias, TypeVar

from pymongo import AsyncMongoClient
from pymongo.errors import AutoReconnect, NetworkTimeout, OperationFailure, PyMongoError, ServerSelectionTimeoutError
from steersman import SteersmanError
from steersman.clock import RealClock
from steersman.concurrency import cleanup
from steersman.controller import ExternalWriter, without_fence

from mgors.keyfile import Keyfile
from mgors.members import NotAuthorised, Refused, TimedOut
from mgors.tls import Trust

Mongo: TypeAlias = AsyncMongoClient[dict[str, Any]]
T = TypeVar("T")

#: Milliseconds to connect to a member.
CONNECT_MS = 2_000
#: Seconds within which a connection must close.
_CLOSE = 5.0
#: The driver uses the real clock, even if the operator does not.
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
    """A command on a member failed. ``how`` shows whether the member was reached."""

    def __init__(self, message: str, how: Refused | TimedOut | NotAuthorised | None = None) -> None:
        """Create the error; ``how`` is ``None`` if the member responded."""
        super().__init__(message)
        self.how = how


#: Returns the address to connect to for a member's host; a proxy or a port-forward has another one.
Dial: TypeAlias = Callable[[str], str]


def directly(host: str) -> str:
    """Return the host itself."""
    return host


@dataclass(frozen=True, slots=True)
class Member:
    """A connected member. Use ``mongo`` only for queries; writes go through `run_command` and `change`."""

    mongo: Mongo
    host: str
    _write: ExternalWriter

    async def run_command(self, command: dict[str, Any], db: str = "admin") -> None:
        """Run a command that changes something."""
        await self.change(_described(command), partial(self.mongo[db].command, command))

    async def change(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """Perform a write of any other form."""
        return await self._write(f"{what} at {self.host}", work)


@dataclass(frozen=True, slots=True)
class Connector:
    """Connects to the members of one replica set."""

    keyfile: Keyfile
    write: ExternalWriter = without_fence
    dial: Dial = directly
    #: How members are verified; ``None`` for connections without TLS.
    trust: Trust | None = None

    @asynccontextmanager
    async def member(self, host: str, limit: Limit = Limit.CHANGE) -> AsyncIterator[Member]:
        """Connect to one member in any state. Errors of the driver are raised as `MemberError`."""
        with _authority_file(self.trust) as verification:
            client: Mongo = self._client(host, limit, verification)
        try:
            yield Member(client, host, self.write)
        except PyMongoError as error:
            # The driver appends the whole reply of the server to its message.
            raise MemberError(f"{host}: {str(error).partition(', full error')[0]}", reason_of(error)) from error
        finally:
            # The driver has its own tasks, and leaks them if it is cancelled while it closes.
            await cleanup(client.close(), clock=_CLOCK, within=_CLOSE)

    def _client(self, host: str, limit: Limit, verification: dict[str, Any]) -> Mongo:
        return AsyncMongoClient(
            self.dial(host),
            directConnection=True,
            username="__system",
            password=self.keyfile.key,
            authSource="local",
            authMechanism="SCRAM-SHA-256",
            appname="mgors",
            serverSelectionTimeoutMS=CONNECT_MS,
            connectTimeoutMS=CONNECT_MS,
            socketTimeoutMS=limit.value,
            **verification,
        )


@contextmanager
def _authority_file(trust: Trust | None) -> Iterator[dict[str, Any]]:
    """Yield the options of the driver for TLS. It reads authorities from a file only, when the client is created."""
    if trust is None:
        yield {}
        return
    with NamedTemporaryFile(suffix=".crt") as file:
        file.write(trust.authority)
        file.flush()
        yield {"tls": True, "tlsCAFile": file.name, "tlsAllowInvalidHostnames": trust.any_hostname}


def reason_of(error: PyMongoError) -> Refused | TimedOut | NotAuthorised | None:
    """Return how a member failed to respond; ``None`` if it responded with an error."""
    text = str(error).partition(", full error")[0]
    match error:
        case OperationFailure(code=code):
            if code in _UNAUTHORISED:
                return NotAuthorised(text)
            return Refused(text) if code in _SHUTTING_DOWN else None
        case ServerSelectionTimeoutError():
            # The driver retries until its time is over; the message has the last error.
            if "CERTIFICATE_VERIFY_FAILED" in text:
                return NotAuthorised(text)  # it is alive, and has a certificate that we do not trust
            return Refused(text) if "refused" in text else TimedOut(text)
        case NetworkTimeout():
            return TimedOut(text)
        case AutoReconnect():
            return Refused(text)
        case _:
            return None


def _described(command: dict[str, Any]) -> str:
    """Return the description of a command, without secrets: its name, and its collection, user or version."""
    name, about = next(iter(command.items()))
    match about:
        case str():
            return f"{name} {about}"
        case {"version": version}:
            return f"{name} {version}"
        case _:
            return name
