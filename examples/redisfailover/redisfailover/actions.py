"""What can be done about a RedisFailover: one small step each, which can be repeated. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from redisfailover.observation import Address, RedisNode, SentinelNode


@dataclass(frozen=True, slots=True)
class Promote:
    """Let a server be the master."""

    node: RedisNode
    why: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Let a server follow a master; what it has and the master has not is lost."""

    node: RedisNode
    master: Address


@dataclass(frozen=True, slots=True)
class Configure:
    """Change settings of a running server."""

    node: RedisNode
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Monitor:
    """Tell a sentinel which master to watch, and forget any other."""

    node: SentinelNode
    master: Address
    quorum: int


@dataclass(frozen=True, slots=True)
class Release:
    """Let a sentinel watch nobody."""

    node: SentinelNode


@dataclass(frozen=True, slots=True)
class Adjust:
    """Change options of a sentinel."""

    node: SentinelNode
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reset:
    """Let a sentinel forget replicas and sentinels, by telling it of its master anew; it finds those that are there."""

    node: SentinelNode
    master: Address
    quorum: int
    why: str


@dataclass(frozen=True, slots=True)
class Failover:
    """Let a sentinel replace the master now. If it finds no good replica, ``otherwise`` becomes master.

    A master that still runs is fenced first (`Fence`).
    """

    node: SentinelNode
    otherwise: RedisNode
    why: str
    fence: "Fence | None" = None


@dataclass(frozen=True, slots=True)
class Fence:
    """Stop a master from confirming writes that its successor will not have.

    A pause holds writes back while the sentinels work. It ends by time, and nobody knows how long the failover takes or
    whether the operator lives to see its end. So the master also refuses every write from the moment the first of
    its replicas leaves it, until it is demoted.
    """

    master: RedisNode
    replicas: tuple[RedisNode, ...]
    #: How many connected replicas it needs from now on before it accepts a write.
    write_quorum: int


@dataclass(frozen=True, slots=True)
class Replace:
    """Delete a pod; the StatefulSet makes it anew, as it says now."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class Accept:
    """Let a server accept the password that is asked for, beside what it accepts already."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class Link:
    """Let a server use the password towards its master."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class Tell:
    """Let a sentinel use the password towards servers."""

    node: SentinelNode


@dataclass(frozen=True, slots=True)
class Require:
    """Let a server accept only the passwords that are asked for."""

    node: RedisNode


#: The steps of a change of the password.
PasswordStep: TypeAlias = Accept | Link | Tell | Require
Action: TypeAlias = (
    Promote | Follow | Configure | Monitor | Release | Adjust | Reset | Failover | Replace | PasswordStep
)
