"""Keeping a replica of a resource true: the list/watch state machine, ``(state, input) → (state, effects)``.

Laws
----
1. Every rule about when to list, watch, resume, fall back and wait is in this file; the driver of the machine only
   carries out its effects and feeds the results back. Times and randomness come in with the inputs.
2. ``Begin`` … ``Commit`` brackets a complete new state. What arrives in between goes into a buffer, which replaces the
   replica at ``Commit``; a second ``Begin`` throws the buffer away. Outside the bracket events change the replica.
3. At most one list, watch or wait is under way. ``List``, ``Watch``, ``Probe`` and ``Wait`` replace the stream before
   them: the driver closes it, and feeds nothing more of it to the machine.
4. The version to resume from is only ever that of a complete list, of an event in order, or of a bookmark.
5. A complete new state is never older than the last one, except where the server's own history was set back: it is read
   not older than the known version, or, without one, from a quorum.

The way through it::

    Idle ──▶ Streaming (WatchList) ──initial events end──▶ Watching ──closed──▶ Watching …
                │ not supported, broken                     ▲   │
                ▼                                           │   ├─ 429, refused, 5xx ──▶ Waiting ──▶ Watching
             Listing ──▶ next page … ──last page────────────┘   ├─ 410 ──▶ Streaming or Listing
                │                                               └─ silent ──▶ Probing ──▶ Watching, or from the start
                └─ failed ──▶ Waiting ──▶ from the start
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from steersman.errors import (
    ApiError,
    BadRequest,
    ConnectionFailed,
    ConnectionLost,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NoAnswer,
    NotAcceptable,
    ServerTimeout,
    ServiceUnavailable,
    SteersmanError,
    Timeout,
    TooManyRequests,
    TransportError,
    Unauthorized,
    UnsupportedMediaType,
)
from steersman.protocol.list_watch_messages import (
    Begin,
    BookmarkReceived,
    Commit,
    Effect,
    EventsReceived,
    Input,
    List,
    ListFailed,
    PageReceived,
    Probe,
    Report,
    Started,
    Wait,
    Watch,
    WatchClosed,
    WatchFailed,
    Woken,
)
from steersman.protocol.options import ListOptions, WatchOptions
from steersman.protocol.resource_version import is_older, is_resource_version
from steersman.protocol.responses import is_too_large_version

#: Objects a page.
PAGE_SIZE = 500
#: Seconds that one watch lasts: a random time in this range, so that watches do not end all at once.
WATCH_TIMEOUT = (300.0, 600.0)
#: Seconds of the first back-off, how it grows, and where it stops growing; chance makes each up to twice as long.
BACKOFF_FIRST, BACKOFF_FACTOR, BACKOFF_MAX = 0.8, 2.0, 30.0
#: Seconds without a failure after which the next one is a first failure again.
BACKOFF_RESET = 120.0
#: A watch that ends sooner without an event has failed, even if it was closed properly.
SHORT_WATCH = 1.0
#: Seconds for which a server's internal errors only restart the watch, before the state is fetched again.
INTERNAL_ERROR_PATIENCE = 60.0

#: 0.8 s doubled this often exceeds the maximum; more would only overflow.
_MAX_DOUBLINGS = 6


class ListWatchSettings(Struct, frozen=True, kw_only=True):
    """What is replicated, and how."""

    label_selector: str = ""
    field_selector: str = ""
    page_size: int = PAGE_SIZE
    #: Request the initial state as a stream first.
    watch_list: bool = True

    def __post_init__(self) -> None:
        if self.page_size < 1:
            raise ValueError(f"page_size must be positive, got {self.page_size}")


# Where the machine is.


class Idle(Struct, frozen=True):
    """Nothing was requested yet."""


class Listing(Struct, frozen=True):
    """A page is under way."""

    options: ListOptions


class Probing(Struct, frozen=True):
    """A watch was silent; the server is asked which version it has."""


class Streaming(Struct, frozen=True):
    """A WatchList stream has not yet sent all initial events."""

    opened: float
    #: The version that was asked for.
    version: str


class Watching(Struct, frozen=True):
    """The replica follows the server."""

    opened: float
    #: Events and bookmarks so far on this stream.
    received: int = 0
    #: Whether this stream began without a version: its first events come in no order, so they name no version.
    unordered: bool = False


class Waiting(Struct, frozen=True):
    """Backing off; afterwards the watch continues, or the state is fetched again."""

    then: Literal["watch", "sync"]


Phase: TypeAlias = Idle | Listing | Probing | Streaming | Watching | Waiting


class State(Struct, frozen=True):
    """The whole state of the machine. ``State(settings)`` is the beginning."""

    settings: ListWatchSettings = ListWatchSettings()
    #: From where a watch is resumed; empty before the first complete state. Set at birth, the machine resumes from it.
    version: str = ""
    phase: Phase = Idle()
    #: The server does not have ``version`` (no longer, or not yet): the next state is read from a quorum.
    quorum: bool = False
    #: Whether the server has rejected WatchList.
    refused_watch_list: bool = False
    #: Failures in a row, and when the last one was.
    failures: int = 0
    last_failure: float = 0.0
    #: When the present series of internal errors began.
    internal_errors_since: float | None = None

    @property
    def is_initial(self) -> bool:
        """Whether what arrives goes into the buffer (law 2)."""
        return isinstance(self.phase, (Streaming, Listing))


Step: TypeAlias = tuple[State, tuple[Effect, ...]]


def step(state: State, told: Input) -> Step:
    """Handle one input; return the next state and the effects, in order."""
    handler = _TRANSITIONS.get((type(state.phase), type(told)))
    if handler is None:
        raise ValueError(f"{type(told).__name__} while {type(state.phase).__name__}: the driver broke law 3")
    return handler(state, state.phase, told)


# Ways to go on.


def _sync(state: State, told: Input) -> Step:
    """Fetch a complete new state: as a stream where the server supports it, otherwise as a list."""
    if not state.settings.watch_list or state.refused_watch_list:
        return _list(state)
    version = "" if state.quorum else state.version
    options = _watch_options(state, told.chance, version, initial=True)
    return replace(state, phase=Streaming(told.now, version)), (Begin(), Watch(options))


def _list(state: State) -> Step:
    """Fetch a complete new state as a list: the newest at first, later nothing older than the known version.

    The first list sends no version, never "0": that would allow the cache of any replica, however far behind, and an
    operator would act on objects that were deleted or changed before its restart. Servers since 1.31 answer such a list
    from memory too, once they know that it is current; older ones read it from their store, page by page.
    """
    version = "" if state.quorum else state.version
    # A list at a version comes from the server's memory: it is served whole, and a limit would bypass the memory.
    limit = 0 if version else state.settings.page_size
    return _begin_list(state, _list_options(state, limit=limit, resource_version=version))


def _begin_list(state: State, options: ListOptions) -> Step:
    return replace(state, phase=Listing(options)), (Begin(), List(options))


def _list_options(state: State, *, limit: int, resource_version: str = "", continue_: str = "") -> ListOptions:
    return ListOptions(
        label_selector=state.settings.label_selector,
        field_selector=state.settings.field_selector,
        limit=limit,
        continue_=continue_,
        resource_version=resource_version,
    )


def _watch(state: State, told: Input) -> Step:
    """Watch from the last version."""
    phase = Watching(told.now, unordered=state.version in ("", "0"))
    return replace(state, phase=phase), (Watch(_watch_options(state, told.chance, state.version)),)


def _watch_options(state: State, chance: float, version: str, *, initial: bool = False) -> WatchOptions:
    least, most = WATCH_TIMEOUT
    return WatchOptions(
        label_selector=state.settings.label_selector,
        field_selector=state.settings.field_selector,
        resource_version=version,
        send_initial_events=initial,
        timeout_seconds=int(least + chance * (most - least)),
    )


def _commit(state: State, version: str) -> State:
    return replace(state, version=version, quorum=False, internal_errors_since=None)


def _count_failure(state: State, now: float) -> State:
    is_first = state.failures == 0 or now - state.last_failure > BACKOFF_RESET
    return replace(state, failures=1 if is_first else state.failures + 1, last_failure=now)


def _back_off(state: State, told: Input, error: SteersmanError, then: Literal["watch", "sync"]) -> Step:
    """Wait, longer after each failure in a row and never less than the server asks for."""
    state = _count_failure(state, told.now)
    seconds = min(BACKOFF_FIRST * BACKOFF_FACTOR ** min(state.failures - 1, _MAX_DOUBLINGS), BACKOFF_MAX)
    seconds *= 1.0 + told.chance
    if isinstance(error, ApiError) and error.retry_after is not None:
        seconds = max(seconds, error.retry_after)
    return replace(state, phase=Waiting(then)), (Report(error), Wait(seconds))


# Transitions.


def _on_start(state: State, _: Idle, told: Started) -> Step:
    return _watch(state, told) if state.version else _sync(state, told)


def _on_wake(state: State, phase: Waiting, told: Woken) -> Step:
    return _watch(state, told) if phase.then == "watch" else _sync(state, told)


def _on_page(state: State, phase: Listing, told: PageReceived) -> Step:
    if told.continue_token:
        # The token carries the version and the position; the page before had the number.
        options = _list_options(state, limit=phase.options.limit, continue_=told.continue_token)
        return replace(state, phase=Listing(options)), (List(options),)
    state, effects = _watch(_commit(state, told.version), told)
    return state, (Commit(told.version), *effects)


def _on_list_failure(state: State, phase: Listing, told: ListFailed) -> Step:
    asked = phase.options
    if isinstance(told.error, Gone) and asked.continue_:
        # The snapshot of the pages has expired: fetch everything in one piece, from a quorum.
        return _begin_list(state, _list_options(state, limit=0))
    if _has_not_version(told.error) and asked.resource_version:
        return _list(replace(state, quorum=True))
    return _back_off(state, told, told.error, "sync")


def _has_not_version(error: SteersmanError) -> bool:
    """Return whether a request failed only because the server does not have the version that was asked for."""
    return isinstance(error, Gone) or is_too_large_version(error)


def _on_probe(state: State, _: Probing, told: PageReceived) -> Step:
    known = is_resource_version(told.version) and is_resource_version(state.version)
    if known and is_older(told.version, state.version):
        # The server's history was set back (a restored backup): a watch from our version would be silent forever.
        return _sync(replace(state, quorum=True), told)
    return _watch(state, told)


def _on_probe_failure(state: State, _: Probing, told: ListFailed) -> Step:
    return _back_off(state, told, told.error, "watch")


def _on_initial_events(state: State, _: Streaming, __: EventsReceived) -> Step:
    # Initial events are not ordered by version: none of them may be resumed from.
    return state, ()


def _on_initial_bookmark(state: State, phase: Streaming, told: BookmarkReceived) -> Step:
    if not told.initial_events_end:
        # A server that supports WatchList sends no other bookmark first: this one ignores the parameter.
        return _list(replace(state, refused_watch_list=True))
    state = replace(_commit(state, told.version), phase=Watching(phase.opened, received=1))
    return state, (Commit(told.version),)


def _on_initial_close(state: State, _: Streaming, __: WatchClosed) -> Step:
    return _list(state)


#: Responses of a server that does not support, or does not allow, WatchList. One that ignores it stays silent.
_REFUSALS = (Invalid, BadRequest, MethodNotAllowed, NotAcceptable, UnsupportedMediaType, NoAnswer)


def _on_initial_failure(state: State, phase: Streaming, told: WatchFailed) -> Step:
    error = told.error
    if isinstance(error, (TooManyRequests, ConnectionFailed)):
        return _back_off(state, told, error, "sync")
    if _has_not_version(error):
        if phase.version:
            return _sync(replace(state, quorum=True), told)
        return _back_off(state, told, error, "sync")
    return _list(replace(state, refused_watch_list=isinstance(error, _REFUSALS)))


def _on_events(state: State, phase: Watching, told: EventsReceived) -> Step:
    unordered = phase.unordered and told.only_added
    phase = replace(phase, received=phase.received + told.count, unordered=unordered)
    version = state.version if unordered else told.version or state.version
    return replace(state, phase=phase, version=version, internal_errors_since=None), ()


def _on_bookmark(state: State, phase: Watching, told: BookmarkReceived) -> Step:
    phase = replace(phase, received=phase.received + 1, unordered=False)
    return replace(state, phase=phase, version=told.version or state.version, internal_errors_since=None), ()


def _on_close(state: State, phase: Watching, told: WatchClosed) -> Step:
    return _ended(state, phase, told, ConnectionLost("the watch ended within a second and without an event"))


def _ended(state: State, phase: Watching, told: Input, error: SteersmanError) -> Step:
    """Continue after a stream ended normally."""
    if phase.received:
        return _watch(state, told)
    if told.now - phase.opened < SHORT_WATCH:
        return _back_off(state, told, error, "watch")
    options = _list_options(state, limit=1)
    return replace(state, phase=Probing()), (Probe(options),)


def _on_failure(state: State, phase: Watching, told: WatchFailed) -> Step:
    recover = next((recover for errors, recover in _RECOVERIES if isinstance(told.error, errors)), _relist_later)
    return recover(state, phase, told)


def _relist_now(state: State, _: Watching, told: WatchFailed) -> Step:
    """Fetch the state at once; if that happens repeatedly, with pauses."""
    counted = _count_failure(state, told.now)
    if counted.failures == 1:
        synced, effects = _sync(counted, told)
        return synced, (Report(told.error), *effects)
    return _back_off(state, told, told.error, "sync")


def _relist_later(state: State, _: Watching, told: WatchFailed) -> Step:
    return _back_off(state, told, told.error, "sync")


def _watch_later(state: State, phase: Watching, told: WatchFailed) -> Step:
    if is_too_large_version(told.error):
        return _relist_now(replace(state, quorum=True), phase, told)
    return _back_off(state, told, told.error, "watch")


def _watch_or_relist_later(state: State, _: Watching, told: WatchFailed) -> Step:
    since = told.now if state.internal_errors_since is None else state.internal_errors_since
    if told.now - since < INTERNAL_ERROR_PATIENCE:
        return _back_off(replace(state, internal_errors_since=since), told, told.error, "watch")
    return _back_off(replace(state, internal_errors_since=None), told, told.error, "sync")


def _on_broken_stream(state: State, phase: Watching, told: WatchFailed) -> Step:
    return _ended(state, phase, told, told.error)


_Recovery: TypeAlias = Callable[[State, Watching, WatchFailed], Step]

#: What to do about a watch that failed; the first row that matches counts, and anything else is ``_relist_later``. An
#: overloaded or unreachable server must not be asked for everything, so those rows never list.
_RECOVERIES: tuple[tuple[type[SteersmanError] | tuple[type[SteersmanError], ...], _Recovery], ...] = (
    (Gone, _relist_now),
    (InternalError, _watch_or_relist_later),
    ((TooManyRequests, ServiceUnavailable, Timeout, ServerTimeout, Unauthorized), _watch_later),
    ((ConnectionLost, NoAnswer), _on_broken_stream),
    (TransportError, _watch_later),
)

#: The machine: which input is understood in which phase. ``Any`` because the key itself names both types.
_TRANSITIONS: dict[tuple[type[Phase], type[Input]], Callable[[State, Any, Any], Step]] = {
    (Idle, Started): _on_start,
    (Waiting, Woken): _on_wake,
    (Listing, PageReceived): _on_page,
    (Listing, ListFailed): _on_list_failure,
    (Probing, PageReceived): _on_probe,
    (Probing, ListFailed): _on_probe_failure,
    (Streaming, EventsReceived): _on_initial_events,
    (Streaming, BookmarkReceived): _on_initial_bookmark,
    (Streaming, WatchClosed): _on_initial_close,
    (Streaming, WatchFailed): _on_initial_failure,
    (Watching, EventsReceived): _on_events,
    (Watching, BookmarkReceived): _on_bookmark,
    (Watching, WatchClosed): _on_close,
    (Watching, WatchFailed): _on_failure,
}
