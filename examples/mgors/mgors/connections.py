"""Connects to members of a replica set, each by itself, as members do among themselves: by showing the keyfile.

Whoever shows it may do everything, at any member, also before there is any user and after all of them were lost.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError
from steersman import SteersmanError
from steersman.clock import RealClock
from steersman.concurrency import cleanup

Mongo: TypeAlias = AsyncMongoClient[dict[str, Any]]
T = TypeVar("T")

#: Milliseconds to find a member, and for one answer of it.
FIND_MS, _ANSWER_MS = 2_000, 15_000
#: Seconds that a connection has to close.
_CLOSE = 5.0
#: The driver's time is real, whatever the operator's is.
_CLOCK = RealClock()


class MemberError(SteersmanError):
    """A member did not do what it was asked for, this time."""


class CarryOut(Protocol):
    """Does what stays done when the operator is gone. All that changes a member, or a backup, passes through one."""

    async def __call__(self, write: str, work: Callable[[], Awaitable[T]], /) -> T:
        """Do it; ``write`` says what it is."""


async def at_once(_: str, work: Callable[[], Awaitable[T]], /) -> T:
    """Do it, and that is all."""
    return await work()


@dataclass(frozen=True, slots=True)
class Member:
    """A member that is connected. What is only asked, ``mongo`` can be asked."""

    mongo: Mongo
    host: str
    _carry_out: CarryOut

    async def order(self, command: dict[str, Any], db: str = "admin") -> None:
        """Tell it a command that changes something."""
        await self.change(_told(command), partial(self.mongo[db].command, command))

    async def change(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that changes something."""
        return await self._carry_out(f"{what} at {self.host}", work)


@dataclass(frozen=True, slots=True)
class Door:
    """Opens the members of one replica set."""

    keyfile: str = field(repr=False)
    carry_out: CarryOut = at_once

    @asynccontextmanager
    async def member(self, host: str) -> AsyncIterator[Member]:
        """Connect to one member, whatever it says of itself."""
        client: Mongo = AsyncMongoClient(
            host,
            directConnection=True,
            username="__system",
            password=self.keyfile,
            authSource="local",
            authMechanism="SCRAM-SHA-256",
            appname="mgors",
            serverSelectionTimeoutMS=FIND_MS,
            connectTimeoutMS=FIND_MS,
            socketTimeoutMS=_ANSWER_MS,
        )
        try:
            yield Member(client, host, self.carry_out)
        except PyMongoError as error:
            # What a server answers is repeated there as a whole document: its message is what there is to say.
            raise MemberError(f"{host}: {str(error).partition(', full error')[0]}") from error
        finally:
            # The driver has tasks of its own; cancelled while it closes, it would leave them behind.
            await cleanup(client.close(), clock=_CLOCK, within=_CLOSE)


def _told(command: dict[str, Any]) -> str:
    """Say what a command does, without secrets: its name, and whom or which configuration it is about."""
    name, about = next(iter(command.items()))
    match about:
        case str():
            return f"{name} {about}"
        case {"version": version}:
            return f"{name} {version}"
        case _:
            return name
