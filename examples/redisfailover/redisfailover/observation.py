"""What was seen of one RedisFailover: its servers and sentinels, each as it says of itself. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["master", "slave"]
#: The offset of a server that has just begun, and follows itself.
_BEGINNING = 1


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where a Redis listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Write it as people do."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisNode:
    """A Redis server: a pod, and what it says of itself."""

    pod: str
    address: Address | None = None
    #: Whether its pod is as the StatefulSet says now.
    is_current: bool = True
    #: Whether its container cannot run, such as one whose image is not there.
    is_stuck: bool = False
    #: ``None``: nobody answers; ``problem`` says why.
    role: Role | None = None
    problem: str = ""
    #: Whom it follows. A server that has just started follows itself: it has no master, and does not act as one.
    follows: Address | None = None
    #: Whether it has all that its master had when they met, and hears of whatever is new.
    is_synced: bool = False
    #: How far it got in the history of the data, and how many keys it has.
    offset: int = 0
    keys: int = 0
    #: The history that the offset counts in, and the one it was before, with the offset at which that ended.
    history: str = ""
    before: str = ""
    before_until: int = -1
    #: The password that it was reached with.
    password: str = field(default="", repr=False)
    #: Whether it accepts the password that is asked for, accepts others beside it, and uses it towards its master.
    accepts: bool = True
    accepts_others: bool = False
    links: bool = True
    #: Settings that differ from what is asked for, as they should be.
    drift: Mapping[str, str] = field(default_factory=dict)
    #: How many replicas must be connected before it accepts a write (``min-replicas-to-write``).
    write_quorum: int = 0

    @property
    def ordinal(self) -> int:
        """Its number in the StatefulSet."""
        return int(self.pod.rpartition("-")[2])

    @property
    def newest(self) -> tuple[int, int, int]:
        """Order of servers of one history: the place in it, the keys; then the lower number wins."""
        return self.offset, self.keys, -self.ordinal

    def has_all_of(self, other: "RedisNode") -> bool:
        """Return whether this server has all that another one has. Offsets of different histories say nothing."""
        if other.offset <= _BEGINNING and not other.keys:
            return True  # it has nothing
        if other.history == self.history:
            return other.offset <= self.offset
        # A server that becomes master begins another history after what it took over from the one before.
        return bool(other.history) and other.history == self.before and other.offset < self.before_until


@dataclass(frozen=True, slots=True, kw_only=True)
class SentinelNode:
    """A sentinel: a pod, and what it says of the master that it watches."""

    pod: str
    address: Address | None = None
    #: Of its pod: a successor knows nothing of what was told to this one.
    uid: str = ""
    #: Whether it was told the password that is asked for.
    has_password: bool = True
    answers: bool = False
    #: The master that it watches; ``None`` if it was never told of one.
    watches: Address | None = None
    quorum: int = 0
    #: How many replicas and other sentinels it remembers, gone ones included.
    replicas: int = 0
    others: int = 0
    #: Whether it believes its master to be gone, and whether it is replacing it.
    is_down: bool = False
    is_failing_over: bool = False
    #: Options of ``SENTINEL SET`` that differ from what is asked for, as they should be.
    drift: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a RedisFailover asks for, as far as it matters for who follows whom."""

    #: How many servers there are for now, and how many are to stay: one more than that may be master still.
    replicas: int = 3
    stays: int = 3
    sentinels: int = 3
    #: A Redis outside that everybody follows.
    outside: Address | None = None
    #: Whether sentinels watch over the one outside.
    watches_outside: bool = False
    #: What ``customConfig`` says of ``min-replicas-to-write``.
    write_quorum: int = 0

    @property
    def quorum(self) -> int:
        """How many sentinels must agree."""
        return self.sentinels // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that was seen in one look."""

    redis: tuple[RedisNode, ...] = ()
    sentinels: tuple[SentinelNode, ...] = ()
    #: The history of the last master that was seen; empty if none was.
    last_history: str = ""
    #: Seconds for which there has been no master, and for which there have been several.
    masterless_for: float = 0.0
    several_for: float = 0.0

    @property
    def answering(self) -> tuple[RedisNode, ...]:
        """The servers that answer."""
        return tuple(node for node in self.redis if node.role is not None)

    @property
    def masters(self) -> tuple[RedisNode, ...]:
        """The servers that accept writes."""
        return tuple(node for node in self.redis if node.role == "master")

    @property
    def watchers(self) -> tuple[SentinelNode, ...]:
        """The sentinels that answer."""
        return tuple(node for node in self.sentinels if node.answers)

    @property
    def is_failing_over(self) -> bool:
        """Whether a sentinel is replacing the master this moment."""
        return any(node.is_failing_over for node in self.watchers)

    def watching(self, address: Address | None) -> tuple[SentinelNode, ...]:
        """Give the sentinels that watch that master."""
        return tuple(node for node in self.watchers if address is not None and node.watches == address)

    def at(self, address: Address | None) -> RedisNode | None:
        """Give the server with that address."""
        return next((node for node in self.redis if address is not None and node.address == address), None)
