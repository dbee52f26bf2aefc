"""What the reconciler needs of Redis: to look at servers and sentinels, and to take the steps that were decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from redisfailover.actions import Action
from redisfailover.external_writes import ExternalWrite, unfenced
from redisfailover.observation import Address, RedisNode, SentinelNode


class Rejected(Exception):  # noqa: N818 - it is what Redis did
    """Redis does not accept a setting; the text says which, and why."""


class Unreachable(Exception):  # noqa: N818 - it is what Redis is
    """A server or sentinel does not answer, or not as it should. Another look says more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How to speak with the servers of one RedisFailover, and how they should be."""

    password: str = field(default="", repr=False)
    #: A password that clients may still use, and those that servers may still have.
    previous: str = field(default="", repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    #: Settings of servers, and options of sentinels.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: What carries out commands that change something, and writes backups.
    write: ExternalWrite = unfenced
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a server's data in a file."""

    sha256: str
    size_bytes: int


class Servers(Protocol):
    """Redis servers and sentinels, by their addresses. A look never raises; who does not answer says why."""

    async def look_at(self, node: RedisNode, terms: Terms) -> RedisNode:
        """Complete what is known of a server by what it says of itself."""

    async def look_at_sentinel(self, node: SentinelNode, terms: Terms) -> SentinelNode:
        """Complete what is known of a sentinel by what it says of its master."""

    async def act(self, action: Action, terms: Terms) -> None:
        """Take a step; raises `Rejected` or `Unreachable`."""

    async def save(self, source: Address, target: Path, terms: Terms) -> Snapshot:
        """Write the data of a server to a file, which is there as a whole or not at all; raises `Unreachable`."""
