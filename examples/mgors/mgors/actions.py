"""What can be done about a replica set: one of these in a pass, and never two."""

from dataclasses import dataclass
from typing import TypeAlias

from mgors.members import Seat


@dataclass(frozen=True, slots=True)
class Rest:
    """All is as it should be."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now: something has to happen first."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Initiate:
    """Begin the replica set, with this one member."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class SetHost:
    """A member is somewhere else now."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Add:
    """A member joins."""

    seat: Seat
    votes: int


@dataclass(frozen=True, slots=True)
class Remove:
    """A member leaves the configuration."""

    number: int
    host: str


@dataclass(frozen=True, slots=True)
class SetVotes:
    """A member gets its vote, or gives it up."""

    number: int
    votes: int


@dataclass(frozen=True, slots=True)
class StepDown:
    """The primary hands over."""

    seat: Seat
    why: str


@dataclass(frozen=True, slots=True)
class Restart:
    """A pod is deleted, for its successor to be as the object says."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class RaiseCompatibility:
    """All members have a newer version, so its features may be used."""

    seat: Seat
    version: str


@dataclass(frozen=True, slots=True)
class Force:
    """The majority is gone and nobody expects it back: go on with these, as the first of them has the data."""

    seat: Seat
    keep: tuple[Seat, ...]


#: What changes who belongs to the set.
MembershipChange: TypeAlias = SetHost | Add | Remove | SetVotes
Action: TypeAlias = Rest | Wait | Initiate | MembershipChange | StepDown | Restart | RaiseCompatibility | Force
