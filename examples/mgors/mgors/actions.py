"""The actions on a replica set, of which each reconcile takes exactly one. Plain data."""

from dataclasses import dataclass
from typing import TypeAlias

from mgors.members import Slot


@dataclass(frozen=True, slots=True)
class NoAction:
    """Do nothing: the replica set matches its object."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing yet: something else has to happen first."""

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
    """Change the votes of a member."""

    number: int
    votes: int


@dataclass(frozen=True, slots=True)
class StepDown:
    """Make the primary step down."""

    slot: Slot
    why: str


@dataclass(frozen=True, slots=True)
class Restart:
    """Delete a pod, so that the StatefulSet creates it from the current template."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class RaiseCompatibility:
    """Enable the features of a version that all members have."""

    slot: Slot
    version: str


@dataclass(frozen=True, slots=True)
class Force:
    """Continue without the majority, with the data of one member. It alone votes until the others have caught up."""

    slot: Slot
    #: The members of the forced configuration, `slot` first.
    keep: tuple[Slot, ...]


#: Actions that change the configuration of a set that has a primary.
MembershipChange: TypeAlias = SetHost | Add | Remove | SetVotes
Action: TypeAlias = NoAction | Wait | Initiate | MembershipChange | StepDown | Restart | RaiseCompatibility | Force
