"""`Recording`: the steps of one run, in order, and a hash that two equal runs share.

Steps are counted from 1, each sort on its own: writes and reads of the operator, events that its watches delivered,
calls of its webhooks, lines of the author's code that wait, and rests, the moments when the scenario found everything
idle. Plans refer to steps by their number, which is exact: up to its fault a run is equal to the recorded one.
"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

#: The time, and the version of the server: all that a process which starts at that moment depends on.
Moment: TypeAlias = tuple[float, int]


class WriteStep(Struct, frozen=True):
    """A write of the operator."""

    place: ClassVar[Literal["write"]] = "write"

    number: int
    #: Which instance made it, counted from 1.
    instance: int
    method: str
    #: The path without its query; of a write to another system, its description.
    target: str
    time: float
    #: The body as it was sent, for explanations; empty for confidential resources.
    body: bytes = b""
    #: Whether there are objects of users at that time.
    has_objects: bool = False
    #: Whether it goes to another system than the API server.
    is_external: bool = False

    def __repr__(self) -> str:
        return f"<WriteStep {self.number} {self.method} {self.target}>"

    def __str__(self) -> str:
        return f"{self.method} {self.target}"

    @property
    def has_name(self) -> bool:
        """Whether it changes an object that has a name, so that another client can change it before."""
        return self.method in {"PATCH", "PUT", "DELETE"}


class ReadStep(Struct, frozen=True):
    """A read of the operator that is not a watch."""

    place: ClassVar[Literal["read"]] = "read"

    number: int
    instance: int
    target: str
    #: Whether it goes to another system than the API server.
    is_external: bool = False


class EventStep(Struct, frozen=True):
    """An event that a watch delivered."""

    place: ClassVar[Literal["event"]] = "event"

    number: int
    instance: int
    #: The path of the watched collection, which identifies the resource and the namespace.
    collection: str
    type: str
    #: ``namespace/name`` of the object.
    path: str
    version: str
    #: Whether there are objects of users at that time.
    has_objects: bool = False

    def __str__(self) -> str:
        return f"{self.type} {self.collection.rpartition('/')[2]} {self.path}"


class AwaitStep(Struct, frozen=True):
    """A line of the author's code that waits, at a moment."""

    place: ClassVar[Literal["await"]] = "await"

    number: int
    instance: int
    #: The function, the file and the line.
    line: str
    moment: Moment

    def __str__(self) -> str:
        return self.line


class CallStep(Struct, frozen=True):
    """A call of a webhook by the API server."""

    number: int
    target: str


class RestStep(Struct, frozen=True):
    """A moment when the scenario found everything idle, and how many steps had been made before it."""

    number: int
    writes: int
    events: int
    #: The resource version of the server.
    version: int


@dataclass(slots=True)
class Recording:
    """Everything that passed between an operator and the world in one run."""

    writes: list[WriteStep] = field(default_factory=list)
    reads: list[ReadStep] = field(default_factory=list)
    events: list[EventStep] = field(default_factory=list)
    rests: list[RestStep] = field(default_factory=list)
    calls: list[CallStep] = field(default_factory=list)
    awaits: list[AwaitStep] = field(default_factory=list)
    #: When writes were sent and answered, and events arrived: at each of them there is a plan with a crash.
    crash_moments: set[Moment] = field(default_factory=set)
    #: Collections that the operator watches, each with the version of the server before the scenario.
    watched: dict[str, str] = field(default_factory=dict)
    #: Collections that the operator lists in any version (``resourceVersion=0``), which may be an old one.
    stale_lists: frozenset[str] = frozenset()
    #: One line for each step, request and response, with its time.
    trace: list[str] = field(default_factory=list, repr=False)

    def digest(self) -> str:
        """Return a hash of the trace: equal runs have equal ones."""
        digest = blake2b(digest_size=8)
        for line in self.trace:
            digest.update(line.encode())
            digest.update(b"\n")
        return digest.hexdigest()


def first_difference(one: list[str], other: list[str]) -> str:
    """Return the first line in which two traces differ, with its number; empty if they are equal."""
    for number, (left, right) in enumerate(zip(one, other, strict=False), start=1):
        if left != right:
            return f"step {number} is {left!r} in one run and {right!r} in the other"
    if len(one) == len(other):
        return ""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return f"one run goes on after {len(shorter)} steps with {longer[len(shorter)]!r}, the other ends"
