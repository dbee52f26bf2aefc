"""What the operator observes of a replica set: a slot per pod, and how its member was reached. Plain data.

An observation has three independent sources, and none of them is certain:

- **our connection** (`Reachability`): a member that does not respond may have ended, may hang, or only the network
  between the operator and the member may be broken;
- **the other members** (`View.peers`): what a member reports of its peers is as old as its last heartbeat, and a member
  that sees no peers may itself be the one that is cut off;
- **the kubelet** (`Slot.is_ready`): a Ready pod has a process that accepts connections, which can still hang; the
  state of a pod on a node that is cut off is that of its last report.

Writes that only an unreachable member has, and whether it will return, cannot be observed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

#: Numbers of arbiters in the configuration start here, so that they never collide with those of other members.
FIRST_ARBITER = 100
#: The maximum number of voting members.
MOST_VOTERS = 7


class State(StrEnum):
    """State of a member, as MongoDB names it; UNINITIALIZED is its error 94."""

    UNINITIALIZED = "UNINITIALIZED"
    STARTUP = "STARTUP"
    PRIMARY = "PRIMARY"
    SECONDARY = "SECONDARY"
    RECOVERING = "RECOVERING"
    STARTUP2 = "STARTUP2"
    UNKNOWN = "UNKNOWN"
    ARBITER = "ARBITER"
    DOWN = "DOWN"
    ROLLBACK = "ROLLBACK"
    REMOVED = "REMOVED"


#: States of a working member.
HEALTHY = frozenset({State.PRIMARY, State.SECONDARY, State.ARBITER})
#: States in which a member can vote, or soon will.
CAN_VOTE = HEALTHY | {State.RECOVERING, State.ROLLBACK, State.STARTUP, State.STARTUP2}


@dataclass(frozen=True, slots=True, order=True)
class OpTime:
    """Position in the oplog. A later term is newer, whatever the time."""

    term: int = -1
    seconds: int = 0
    counter: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMember:
    """One member of a configuration."""

    number: int
    host: str
    votes: int = 1
    is_arbiter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of a member: the list of members."""

    version: int
    term: int
    members: tuple[ConfigMember, ...]
    #: Assigned at initiation, never changed.
    set_id: str = ""

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Config":
        """Read the document that ``replSetGetConfig`` returns."""
        return cls(
            version=int(document["version"]),
            term=int(document.get("term", -1)),
            set_id=str(document.get("settings", {}).get("replicaSetId", "")),
            members=tuple(
                ConfigMember(
                    number=int(member["_id"]),
                    host=str(member["host"]),
                    votes=int(member.get("votes", 1)),
                    is_arbiter=bool(member.get("arbiterOnly", False)),
                )
                for member in document["members"]
            ),
        )

    @property
    def votes(self) -> int:
        """Number of votes that the configuration grants."""
        return sum(member.votes for member in self.members)

    def member(self, number: int) -> ConfigMember | None:
        """Return the member with this id, if it is listed."""
        return next((member for member in self.members if member.number == number), None)

    def is_newer_than(self, other: "Config") -> bool:
        """Return whether this configuration wins over the other, by the rule of mongod.

        A forced configuration has no term; in that case the version alone decides.
        """
        if self.term < 0 or other.term < 0 or self.term == other.term:
            return self.version > other.version
        return self.term > other.term


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What one member knows of another one from its heartbeats."""

    number: int
    state: State
    #: Whether the last heartbeat was answered.
    is_up: bool = True
    #: The term of the newest entry that the peer reported.
    term: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one mongod reports about itself and its peers."""

    state: State
    config: Config | None = None
    #: Whether a majority has this configuration.
    is_committed: bool = True
    optime: OpTime = OpTime()
    #: The newest election term that the member knows. It is above ``optime.term`` if a primary was elected whose writes
    #: the member does not have.
    term: int = -1
    peers: tuple[Peer, ...] = ()
    #: Votes that count. A member that was just added is SECONDARY before it may vote; only this number shows it.
    voting: int = 0
    #: Version of the server, such as 6.0.5.
    version: str = ""
    #: Feature compatibility version, such as 6.0; only a primary reports it.
    compatibility: str = ""

    @property
    def newest_term(self) -> int:
        """The newest term that this member has, knows of, or has seen at a peer."""
        return max(self.term, self.optime.term, *(peer.term for peer in self.peers), -1)


@dataclass(frozen=True, slots=True)
class Answered:
    """The member responded to all queries."""

    view: View


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing listens there, or the server closed the connection."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """No response in time: a hanging process, or a network that drops packets or cannot resolve the name."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class NotAuthorised:
    """The member is alive and rejects our credentials, or we reject its certificate."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no pod, or it has no address: there is nothing to connect to."""

    detail: str = ""


#: How a member was reached. `TimedOut` is a fact about the network, not about the member.
Reachability: TypeAlias = Answered | Refused | TimedOut | NotAuthorised | Gone

#: What `Slot.state` can be.
ALL_STATES = (*map(str, State), "Refused", "TimedOut", "NotAuthorised", "Gone")
_WORDS = {
    Refused: "refuses connections",
    TimedOut: "does not respond in time",
    NotAuthorised: "rejects the keyfile or is not trusted",
    Gone: "has no pod with an address",
}


class Lineage(StrEnum):
    """How the data of a member outside the configuration relates to the oplog of the primary."""

    #: The newest entry of the member is in the primary's oplog: it can catch up.
    CONTAINED = "Contained"
    #: The member has entries that the primary does not have.
    DIVERGED = "Diverged"
    #: The newest entry of the member is older than the primary's oplog.
    TOO_OLD = "TooOld"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place for a member in the replica set: a pod by its number, whether it exists or not."""

    number: int
    pod: str
    #: The uid of the pod that was observed; its successor has the same name. Empty while there is none.
    pod_uid: str = ""
    #: Address of its mongod; empty while it is not known.
    host: str = ""
    is_arbiter: bool = False
    #: Whether the spec wants it.
    is_wanted: bool = True
    #: Whether the pod has an older revision than the StatefulSet.
    is_stale: bool = False
    #: Whether the kubelet reports the pod as Ready.
    is_ready: bool = False
    reach: Reachability = Gone()
    #: Only known for members that have data and are not in the primary's configuration.
    lineage: Lineage | None = None

    @property
    def view(self) -> View | None:
        """What the member reports, if it responded."""
        return self.reach.view if isinstance(self.reach, Answered) else None

    @property
    def is_healthy(self) -> bool:
        """Whether the member responds and is PRIMARY, SECONDARY or ARBITER."""
        return self.view is not None and self.view.state in HEALTHY

    @property
    def is_alive(self) -> bool:
        """Whether there is evidence that the process is alive: any response, or a Ready pod."""
        return self.is_ready or isinstance(self.reach, Answered | NotAuthorised)

    @property
    def config(self) -> Config | None:
        """Configuration of the member."""
        return self.view.config if self.view else None

    @property
    def state(self) -> str:
        """State of the member as MongoDB names it, or how it failed to respond: ``SECONDARY``, ``TimedOut``."""
        return str(self.view.state) if self.view else type(self.reach).__name__

    @property
    def problem(self) -> str:
        """How the member failed to respond, for messages: ``shop-1 does not respond in time``."""
        word = _WORDS.get(type(self.reach), "responds")
        return f"{self.pod} {word}" + (" although its pod is Ready" if self.is_ready and self.view is None else "")
