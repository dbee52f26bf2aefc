"""What the list/watch machine is told (inputs) and what it asks for (effects): its vocabulary, without its rules.

The machine itself, and the laws its driver keeps, stand in ``list_watch``.
"""

from dataclasses import dataclass
from typing import TypeAlias

from steersman.errors import SteersmanError
from steersman.protocol.options import ListOptions, WatchOptions

# What the machine is told.


@dataclass(frozen=True, slots=True)
class _Told:
    #: Monotonic seconds.
    now: float
    #: A random number in [0, 1).
    chance: float


@dataclass(frozen=True, slots=True)
class Started(_Told):
    """Begin."""


@dataclass(frozen=True, slots=True)
class PageReceived(_Told):
    """A ``List`` or ``Probe`` was answered; its objects are in the buffer."""

    version: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class ListFailed(_Told):
    """A ``List`` or ``Probe`` failed."""

    error: SteersmanError


@dataclass(frozen=True, slots=True)
class EventsReceived(_Told):
    """Objects came over the watch and are in the buffer or the replica: one input for any number of them."""

    #: The version of the last one.
    version: str
    count: int
    #: Whether all of them were ``Added``.
    only_added: bool = False


@dataclass(frozen=True, slots=True)
class BookmarkReceived(_Told):
    """A bookmark came over the watch."""

    version: str
    initial_events_end: bool = False


@dataclass(frozen=True, slots=True)
class WatchClosed(_Told):
    """The server ended the watch properly."""


@dataclass(frozen=True, slots=True)
class WatchFailed(_Told):
    """The watch could not be opened, broke, or said ``ERROR``."""

    error: SteersmanError


@dataclass(frozen=True, slots=True)
class Woken(_Told):
    """A ``Wait`` is over."""


Input: TypeAlias = (
    Started | PageReceived | ListFailed | EventsReceived | BookmarkReceived | WatchClosed | WatchFailed | Woken
)


# What the machine asks for.


@dataclass(frozen=True, slots=True)
class Begin:
    """A complete new state begins: start an empty buffer."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The buffer is complete: it is the replica now, at ``version``."""

    version: str


@dataclass(frozen=True, slots=True)
class List:
    """Read a page into the buffer; answer with ``PageReceived`` or ``ListFailed``."""

    options: ListOptions


@dataclass(frozen=True, slots=True)
class Probe:
    """Read a page only for its version, and drop its objects; answer with ``PageReceived`` or ``ListFailed``."""

    options: ListOptions


@dataclass(frozen=True, slots=True)
class Watch:
    """Open a watch and tell what it brings, until ``WatchClosed`` or ``WatchFailed``."""

    options: WatchOptions


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long; answer with ``Woken``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """Something went wrong, and will be tried again: for logs and health. Things are well again at the next event."""

    error: SteersmanError


Effect: TypeAlias = Begin | Commit | List | Probe | Watch | Wait | Report
