"""What can be done about a replica set: exactly one of these per reconcile. Pure data."""

from dataclasses import dataclass
from typing import TypeAlias

from mgors.members import Slot


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do: everything is as the object says."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now: something else has to happen first."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Initiate:
    """Initiate the replica set, with this one member."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class SetHost:
    """Correct the address of a member in the configuration."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class Add:
    """Add a member to the configuration."""

    slot: Slot
    votes: int


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a member from the configuration."""

    number: int
    host: str


@dataclass(frozen=True, slots=True)
class SetVotes:
    """Give a member its vote, or take it."""

    number: int
    votes: int


@dataclass(frozen=True, slots=True)
class StepDown:
    """Let the primary hand over."""

    slot: Slot
    why: str


@dataclass(frozen=True, slots=True)
class Restart:
    """Delete a pod, so that its successor is as the object says."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class RaiseCompatibility:
    """Enable the features of a version that all members have."""

    slot: Slot
    version: str


@dataclass(frozen=True, slots=True)
class Force:
    """Go on without the majority, from the data of one member. It alone votes until the others have caught up."""

    slot: Slot
    #: The members of the forced configuration, `slot` first.
    keep: tuple[Slot, ...]


#: Actions that change the configuration of a set that has a primary.
MembershipChange: TypeAlias = SetHost | Add | Remove | SetVotes
Action: TypeAlias = Rest | Wait | Initiate | MembershipChange | StepDown | Restart | RaiseCompatibility | Force
