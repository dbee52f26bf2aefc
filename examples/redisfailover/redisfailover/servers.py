"""The interface between the reconciler and Redis: query servers and sentinels, and execute actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from steersman.controller import ExternalWriter, without_fence

from redisfailover.actions import Action
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.users import UserRecord


class Rejected(Exception):  # noqa: N818 - named as the event
    """Redis rejected a setting; the message names the setting and the reason."""


class Unreachable(Exception):  # noqa: N818 - named as the event
    """A server or sentinel does not respond, or not as expected. The next reconcile finds out more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccess:
    """How to access the servers of one RedisFailover, and their wanted settings."""

    password: str = field(default="", repr=False)
    #: A password that clients may still use, and passwords that servers may still have.
    previous: str = field(default="", repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    #: ACL users that every server must have.
    users: UserRecord = field(default_factory=UserRecord)
    #: Settings of servers, and options of sentinels.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Performs commands that change something, and writes of backups.
    write: ExternalWriter = without_fence
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a server's data in a file."""

    sha256: str
    size_bytes: int


class Servers(Protocol):
    """Redis servers and sentinels, by their addresses. Queries never raise: the result has the reason."""

    async def inspect(self, node: RedisNode, access: ServerAccess) -> RedisNode:
        """Return the server with what it reports."""

    async def inspect_sentinel(self, node: SentinelNode, access: ServerAccess) -> SentinelNode:
        """Return the sentinel with what it reports of its master."""

    async def execute(self, action: Action, access: ServerAccess) -> None:
        """Execute an action; raise `Rejected` or `Unreachable`."""

    async def save(self, source: Address, target: Path, access: ServerAccess) -> Snapshot:
        """Write the data of a server to a file, completely or not at all; raise `Unreachable`."""
