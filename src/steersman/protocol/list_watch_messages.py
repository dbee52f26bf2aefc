"""The inputs and effects of the list/watch machine: its vocabulary, without its rules.

The machine itself, and the laws its driver keeps, are in ``list_watch``.
"""

from typing import TypeAlias

from msgspec import Struct

from steersman.errors import SteersmanError
from steersman.protocol.options import ListOptions, WatchOptions

# Inputs.


class _Input(Struct, frozen=True):
    #: Monotonic seconds.
    now: float
    #: A random number in [0, 1).
    chance: float


class Started(_Input, frozen=True):
    """Begin."""


class PageReceived(_Input, frozen=True):
    """A ``List`` or ``Probe`` was answered; its objects are in the buffer."""

    version: str
    continue_token: str = ""


class ListFailed(_Input, frozen=True):
    """A ``List`` or ``Probe`` failed."""

    error: SteersmanError


class EventsReceived(_Input, frozen=True):
    """Objects came over the watch and are in the buffer or the replica: one input for any number of them."""

    #: The version of the last one.
    version: str
    count: int
    #: Whether all of them were ``Added``.
    only_added: bool = False


class BookmarkReceived(_Input, frozen=True):
    """A bookmark came over the watch."""

    version: str
    initial_events_end: bool = False


class WatchClosed(_Input, frozen=True):
    """The server ended the watch properly."""


class WatchFailed(_Input, frozen=True):
    """The watch could not be opened, broke, or sent ``ERROR``."""

    error: SteersmanError


class Woken(_Input, frozen=True):
    """A ``Wait`` is over."""


Input: TypeAlias = (
    Started | PageReceived | ListFailed | EventsReceived | BookmarkReceived | WatchClosed | WatchFailed | Woken
)


# What the machine asks for.


class Begin(Struct, frozen=True):
    """A complete new state begins: start an empty buffer."""


class Commit(Struct, frozen=True):
    """The buffer is complete: it is the replica now, at ``version``."""

    version: str


class List(Struct, frozen=True):
    """Read a page into the buffer; answer with ``PageReceived`` or ``ListFailed``."""

    options: ListOptions


class Probe(Struct, frozen=True):
    """Read a page only for its version, and drop its objects; answer with ``PageReceived`` or ``ListFailed``."""

    options: ListOptions


class Watch(Struct, frozen=True):
    """Open a watch and feed its events to the machine, until ``WatchClosed`` or ``WatchFailed``."""

    options: WatchOptions


class Wait(Struct, frozen=True):
    """Wait for that many seconds, then answer with ``Woken``."""

    seconds: float


class Report(Struct, frozen=True):
    """Something went wrong, and will be tried again: for logs and health. Things are well again at the next event."""

    error: SteersmanError


Effect: TypeAlias = Begin | Commit | List | Probe | Watch | Wait | Report
