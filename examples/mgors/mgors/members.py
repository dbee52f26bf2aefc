"""What is known of the members of a replica set: the places they have, and what each of them says. Pure data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: Numbers of arbiters in the configuration begin here, so that they never meet those of members that have data.
FIRST_ARBITER = 100
#: As many members vote at most.
MOST_VOTERS = 7


class State(StrEnum):
    """What a member says of itself, in MongoDB's words; UNINITIALIZED is its error 94."""

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


#: States in which a member does its part.
HEALTHY = frozenset({State.PRIMARY, State.SECONDARY, State.ARBITER})
#: States in which it has, or is about to have, a vote that it can give.
CAN_VOTE = HEALTHY | {State.RECOVERING, State.ROLLBACK, State.STARTUP, State.STARTUP2}


@dataclass(frozen=True, slots=True, order=True)
class OpTime:
    """How far a member's data goes. A later term wins, whatever its clock said."""

    term: int = -1
    seconds: int = 0
    counter: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMember:
    """One member, as the configuration has it."""

    number: int
    host: str
    votes: int = 1
    is_arbiter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration that a member has: who belongs to the set."""

    version: int
    term: int
    members: tuple[ConfigMember, ...]
    #: Given at its initiation, for ever.
    set_id: str = ""

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Config":
        """Read what ``replSetGetConfig`` gives."""
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
        """How many votes there are, once everybody has theirs."""
        return sum(member.votes for member in self.members)

    def member(self, number: int) -> ConfigMember | None:
        """Give a member by its number."""
        return next((member for member in self.members if member.number == number), None)

    def is_newer_than(self, other: "Config") -> bool:
        """Tell which of two holds. One that was forced has no term; then the version alone decides, as mongod does."""
        if self.term < 0 or other.term < 0 or self.term == other.term:
            return self.version > other.version
        return self.term > other.term


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one mongod says."""

    state: State
    config: Config | None = None
    #: Whether a majority has this configuration.
    is_committed: bool = True
    optime: OpTime = OpTime()
    #: Votes that count. A member that was just added is SECONDARY before it may vote, and only this number tells.
    voting: int = 0
    #: Of the server, as 6.0.5.
    version: str = ""
    #: The version whose features may be used, as 6.0; a primary tells.
    compatibility: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A place in the replica set: a pod by its number, whether it is there or not."""

    number: int
    pod: str
    #: The very pod that was looked at; its successor has the same name. Empty while there is none.
    pod_uid: str = ""
    #: Where its mongod is to be reached; empty while that is not known.
    host: str = ""
    is_arbiter: bool = False
    #: Whether the object asks for it.
    is_wanted: bool = True
    #: Whether its pod is not the one that the object asks for by now.
    is_stale: bool = False
    #: ``None`` while nobody answers.
    seen: Seen | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether it does its part."""
        return self.seen is not None and self.seen.state in HEALTHY

    @property
    def config(self) -> Config | None:
        """The configuration that it has."""
        return self.seen.config if self.seen else None
