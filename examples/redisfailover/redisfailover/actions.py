"""The actions of the operator on servers, sentinels and pods: plain data. Each can safely be repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from redisfailover.observation import Address, RedisNode, SentinelNode


@dataclass(frozen=True, slots=True)
class Promote:
    """Make a server the master."""

    node: RedisNode
    why: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Make a server a replica of a master; data that the master does not have is lost."""

    node: RedisNode
    master: Address


@dataclass(frozen=True, slots=True)
class Configure:
    """Change settings of a running server."""

    node: RedisNode
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Monitor:
    """Make a sentinel monitor a master, and no other."""

    node: SentinelNode
    master: Address
    quorum: int


@dataclass(frozen=True, slots=True)
class StopMonitoring:
    """Make a sentinel monitor no master."""

    node: SentinelNode


@dataclass(frozen=True, slots=True)
class SetSentinelOptions:
    """Change options of a sentinel."""

    node: SentinelNode
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reset:
    """Make a sentinel forget replicas and sentinels by registering its master again; it then discovers them."""

    node: SentinelNode
    master: Address
    quorum: int
    why: str


@dataclass(frozen=True, slots=True)
class Failover:
    """Request a failover from a sentinel. If it finds no suitable replica, ``otherwise`` becomes master.

    A master that still runs is fenced first (`Fence`).
    """

    node: SentinelNode
    otherwise: RedisNode
    why: str
    fence: "Fence | None" = None


@dataclass(frozen=True, slots=True)
class Fence:
    """Stop a master from acknowledging writes that its successor will not have.

    A pause delays writes during the failover. It expires after a fixed time, but the failover may take longer and the
    operator may crash before its end. So the master also rejects every write as soon as one of its replicas
    disconnects, until it is demoted.
    """

    master: RedisNode
    replicas: tuple[RedisNode, ...]
    #: Number of connected replicas that the master needs before it accepts a write.
    write_quorum: int


@dataclass(frozen=True, slots=True)
class ReplacePod:
    """Delete a pod; the StatefulSet creates it again from its current template."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class AcceptPassword:
    """Make a server accept the wanted password in addition to those that it accepts already."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class UsePassword:
    """Make a server authenticate with the wanted password at its master."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class SetSentinelPassword:
    """Make a sentinel authenticate with the wanted password at servers."""

    node: SentinelNode


@dataclass(frozen=True, slots=True)
class RequirePassword:
    """Make a server accept only the wanted passwords."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class SetUsers:
    """Create or change the ACL users that a server lacks or has otherwise."""

    node: RedisNode


@dataclass(frozen=True, slots=True)
class DropUsers:
    """Drop the ACL users of a server that were removed. Their connections are closed."""

    node: RedisNode


#: Steps of a password change.
PasswordStep: TypeAlias = AcceptPassword | UsePassword | SetSentinelPassword | RequirePassword
Action: TypeAlias = (
    Promote
    | Follow
    | Configure
    | Monitor
    | StopMonitoring
    | SetSentinelOptions
    | Reset
    | Failover
    | ReplacePod
    | PasswordStep
    | SetUsers
    | DropUsers
)
