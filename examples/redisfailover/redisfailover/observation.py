"""The observed state of one RedisFailover: what its servers and sentinels report. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["master", "slave"]
#: Offset of a server that has just started and follows itself.
_BEGINNING = 1


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Address at which a server or sentinel listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return ``host:port``."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisNode:
    """A Redis server: its pod, and what the server reports."""

    pod: str
    address: Address | None = None
    #: Whether its pod has the current template of the StatefulSet.
    is_current: bool = True
    #: Whether its container cannot run, for example because its image does not exist.
    is_stuck: bool = False
    #: ``None`` if the server does not respond; ``problem`` has the reason.
    role: Role | None = None
    problem: str = ""
    #: Its master. A server that has just started follows itself: it has no master and does not act as one.
    follows: Address | None = None
    #: Whether its initial synchronisation has ended and it receives the writes of its master.
    is_synced: bool = False
    #: Position in the replication history, and number of keys.
    offset: int = 0
    keys: int = 0
    #: Replication id that the offset belongs to, and the one before it with the offset at which that one ended.
    history: str = ""
    previous_history: str = ""
    previous_history_end: int = -1
    #: Password with which it was reached.
    password: str = field(default="", repr=False)
    #: Whether it accepts the wanted password, accepts others too, and authenticates with it at its master.
    accepts_password: bool = True
    accepts_other_passwords: bool = False
    uses_password: bool = True
    #: ACL users that it lacks or has otherwise, and those that it still has although they were removed.
    missing_users: tuple[str, ...] = ()
    leaving_users: tuple[str, ...] = ()
    #: Settings that differ, with the wanted values.
    drift: Mapping[str, str] = field(default_factory=dict)
    #: Number of connected replicas without which it rejects writes (``min-replicas-to-write``).
    write_quorum: int = 0

    @property
    def ordinal(self) -> int:
        """Ordinal of its pod in the StatefulSet."""
        return int(self.pod.rpartition("-")[2])

    @property
    def recency(self) -> tuple[int, int, int]:
        """Sort key for servers of one history: offset, then keys, then the lower ordinal."""
        return self.offset, self.keys, -self.ordinal

    def has_all_data_of(self, other: "RedisNode") -> bool:
        """Return whether this server has all data of another one. Offsets of different histories are not comparable."""
        if other.offset <= _BEGINNING and not other.keys:
            return True  # it has no data
        if other.history == self.history:
            return other.offset <= self.offset
        # A server that becomes master continues the previous history as a new one.
        return (
            bool(other.history) and other.history == self.previous_history and other.offset < self.previous_history_end
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelNode:
    """A sentinel: its pod, and what it reports of the master that it monitors."""

    pod: str
    address: Address | None = None
    #: Uid of its pod: a new pod does not know the password that this one was given.
    uid: str = ""
    #: Whether it was given the wanted password.
    has_password: bool = True
    answers: bool = False
    #: The master that it monitors, if any.
    watches: Address | None = None
    quorum: int = 0
    #: Number of replicas and other sentinels that it knows, including removed ones.
    replicas: int = 0
    others: int = 0
    #: Whether it considers its master down, and whether a failover is in progress.
    is_down: bool = False
    is_failing_over: bool = False
    #: Options of ``SENTINEL SET`` that differ, with the wanted values.
    drift: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The wanted state, as far as decisions about replication need it."""

    #: Number of servers for now, and in the end: while it is scaled down, a server to be removed may still be master.
    replicas: int = 3
    final_replicas: int = 3
    sentinels: int = 3
    #: A Redis outside of this cluster that all servers follow.
    external_master: Address | None = None
    #: Whether sentinels monitor the external master.
    watches_external: bool = False
    #: Value of ``min-replicas-to-write`` in ``customConfig``.
    write_quorum: int = 0

    @property
    def quorum(self) -> int:
        """Number of sentinels that must agree."""
        return self.sentinels // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that one reconcile observed."""

    redis: tuple[RedisNode, ...] = ()
    sentinels: tuple[SentinelNode, ...] = ()
    #: Replication id of the last observed master; empty if there was none.
    last_history: str = ""
    #: Seconds for which there has been no master, and several.
    seconds_without_master: float = 0.0
    seconds_with_several_masters: float = 0.0

    @property
    def answering(self) -> tuple[RedisNode, ...]:
        """The servers that respond."""
        return tuple(node for node in self.redis if node.role is not None)

    @property
    def masters(self) -> tuple[RedisNode, ...]:
        """The servers that accept writes."""
        return tuple(node for node in self.redis if node.role == "master")

    @property
    def watchers(self) -> tuple[SentinelNode, ...]:
        """The sentinels that respond."""
        return tuple(node for node in self.sentinels if node.answers)

    @property
    def is_failing_over(self) -> bool:
        """Whether a failover is in progress."""
        return any(node.is_failing_over for node in self.watchers)

    def watching(self, address: Address | None) -> tuple[SentinelNode, ...]:
        """Return the sentinels that monitor a master."""
        return tuple(node for node in self.watchers if address is not None and node.watches == address)

    def at(self, address: Address | None) -> RedisNode | None:
        """Return the server with an address."""
        return next((node for node in self.redis if address is not None and node.address == address), None)
