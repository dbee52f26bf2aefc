"""The rules of the list/watch machine: each test is one promise about when it lists, watches, resumes and waits."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import (
    ApiError,
    BadAnswer,
    BadRequest,
    Cause,
    ConnectionFailed,
    ConnectionLost,
    DecodeError,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    NoAnswer,
    NotFound,
    ServiceUnavailable,
    SteersmanError,
    Timeout,
    TlsError,
    TooManyRequests,
    Unauthorized,
)
from steersman.protocol.list_watch import (
    Listing,
    ListWatchSettings,
    Probing,
    State,
    Streaming,
    Waiting,
    Watching,
    step,
)
from steersman.protocol.list_watch_messages import (
    Begin,
    BookmarkReceived,
    Commit,
    Effect,
    EventsReceived,
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

EXPIRED = Expired("too old resource version: 1 (288)", code=410, reason="Expired")
GONE = Gone("gone", code=410, reason="Gone")
TOO_LARGE = Timeout(
    "Too large resource version: 999999, current: 354",
    code=504,
    reason="Timeout",
    causes=[Cause("ResourceVersionTooLarge", "Too large resource version")],
    retry_after=1.0,
)
BUSY = TooManyRequests("slow down", code=429, retry_after=7.0)
REFUSED = ConnectionFailed("connection refused")
NOT_SUPPORTED = Invalid("sendInitialEvents is forbidden", code=422)


@dataclass
class Driver:
    """Feeds the machine inputs and advances its time."""

    state: State = field(default_factory=State)
    now: float = 1000.0
    chance: float = 0.0

    def send(self, kind: type[Any], *values: Any, **named: Any) -> tuple[Effect, ...]:
        """Send the machine one input at the current time."""
        self.state, effects = step(self.state, kind(self.now, self.chance, *values, **named))
        return effects

    def later(self, seconds: float) -> "Driver":
        """Advance the time."""
        self.now += seconds
        return self


def only(effects: tuple[Effect, ...], kind: type[Any]) -> Any:
    """Return the one effect of a type."""
    (found,) = [effect for effect in effects if isinstance(effect, kind)]
    return found


def listing(**options: Any) -> Driver:
    """Return a machine that has just requested its first page, without WatchList."""
    driver = Driver(State(ListWatchSettings(watch_list=False, **options)))
    driver.send(Started)
    return driver


def watching(version: str = "100", *, watch_list: bool = False) -> Driver:
    """Return a machine that watches from a version."""
    driver = Driver(State(ListWatchSettings(watch_list=watch_list), version=version))
    driver.send(Started)
    return driver


def streaming() -> Driver:
    """Return a machine that reads its initial state as a stream."""
    driver = Driver()
    driver.send(Started)
    return driver


# The first list, and lists after it.


def test_first_list_is_the_newest_state() -> None:
    """Version "0" allows the cache of any replica: after a restart the operator would act on an old state."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    begin, page = driver.send(Started)
    assert begin == Begin()
    assert page.options.resource_version == ""


def test_first_list_is_read_in_pages_of_500() -> None:
    """Large lists must not arrive in one response."""
    assert listing().state.phase.options.limit == 500


def test_next_page_has_the_token_and_neither_version_nor_match() -> None:
    """The token contains its version; sending another is an error on the server."""
    driver = listing()
    page = only(driver.send(PageReceived, "120", "next"), List)
    assert (page.options.continue_, page.options.limit, page.options.resource_version) == ("next", 500, "")


def test_pages_are_not_committed_before_the_last_one() -> None:
    """A replica with half of its objects would look like the deletion of the other half."""
    driver = listing()
    assert [type(effect) for effect in driver.send(PageReceived, "120", "next")] == [List]
    assert [type(effect) for effect in driver.send(PageReceived, "120")] == [Commit, Watch]


def test_watch_begins_at_the_version_of_the_list() -> None:
    """Between list and watch no change may be lost."""
    commit, watch = listing().send(PageReceived, "120")
    assert (commit.version, watch.options.resource_version) == ("120", "120")


def test_relist_requires_a_version_that_is_not_older_than_the_last_one() -> None:
    """A stale server must not replace the state by an older one."""
    driver = watching("100")
    effects = driver.send(WatchFailed, EXPIRED)
    assert only(effects, List).options.resource_version == "100"


def test_list_at_a_version_is_not_paged() -> None:
    """A limit would make the server bypass its cache and read from its store."""
    driver = watching("100")
    assert only(driver.send(WatchFailed, EXPIRED), List).options.limit == 0


@pytest.mark.parametrize("error", [EXPIRED, GONE, TOO_LARGE], ids=["expired", "gone", "too-large"])
def test_list_whose_version_the_server_lacks_is_repeated_at_once_from_a_quorum(error: ApiError) -> None:
    """Only the version is the problem, so there is nothing to wait for."""
    driver = watching("100")
    driver.send(WatchFailed, EXPIRED)
    begin, page = driver.send(ListFailed, error)
    assert begin == Begin()
    assert (page.options.resource_version, page.options.limit) == ("", 500)


def test_quorum_is_no_longer_requested_after_a_success() -> None:
    """The flag is for one recovery; later lists may come from a cache again."""
    driver = watching("100")
    driver.send(WatchFailed, EXPIRED)
    driver.send(ListFailed, EXPIRED)
    driver.send(PageReceived, "300")
    assert only(driver.later(600).send(WatchFailed, EXPIRED), List).options.resource_version == "300"


def test_quorum_list_that_fails_as_well_is_followed_by_a_delay() -> None:
    """A server that always answers 410 must not be called in a loop."""
    driver = watching("100")
    driver.send(WatchFailed, EXPIRED)
    driver.send(ListFailed, EXPIRED)
    assert isinstance(driver.send(ListFailed, EXPIRED)[-1], Wait)


def test_expired_continue_token_is_followed_by_a_full_list() -> None:
    """The snapshot of the pages has expired: the pages so far are discarded and everything is read in one response."""
    driver = listing()
    driver.send(PageReceived, "120", "next")
    begin, page = driver.send(ListFailed, EXPIRED)
    assert begin == Begin()
    assert (page.options.continue_, page.options.limit, page.options.resource_version) == ("", 0, "")


def test_failed_list_is_retried_after_a_delay_from_the_start() -> None:
    """A partial list is useless after a delay."""
    driver = listing()
    driver.send(PageReceived, "120", "next")
    report, wait = driver.send(ListFailed, ServiceUnavailable("no", code=503))
    assert isinstance(report, Report)
    assert wait == Wait(0.8)
    begin, page = driver.send(Woken)
    assert begin == Begin()
    assert page.options.continue_ == ""


def test_selectors_are_sent_with_every_request() -> None:
    """A cache with a selector must never receive other objects."""
    settings_ = ListWatchSettings(label_selector="app=web", field_selector="spec.nodeName=a", watch_list=False)
    driver = Driver(State(settings_))
    asked = [driver.send(Started)[-1], driver.send(PageReceived, "1", "next")[-1], driver.send(PageReceived, "1")[-1]]
    driver.later(5).send(WatchClosed)
    assert isinstance(driver.state.phase, Probing)
    for effect in asked:
        assert (effect.options.label_selector, effect.options.field_selector) == ("app=web", "spec.nodeName=a")


# WatchList.


def test_initial_state_is_requested_as_a_stream_first() -> None:
    """WatchList needs no memory for a whole list, on either side."""
    begin, watch = Driver().send(Started)
    assert begin == Begin()
    assert watch.options.send_initial_events
    assert watch.options.resource_version == ""
    assert "resourceVersionMatch=NotOlderThan" in watch.options.query
    assert "allowWatchBookmarks=true" in watch.options.query


def test_stream_is_committed_at_the_annotated_bookmark_and_continues() -> None:
    """The connection that sent the state also sends the changes."""
    driver = streaming()
    assert driver.send(EventsReceived, "90", 3) == ()
    assert driver.send(BookmarkReceived, "120", initial_events_end=True) == (Commit("120"),)
    assert isinstance(driver.state.phase, Watching)
    assert driver.state.version == "120"


def test_initial_events_do_not_update_the_version() -> None:
    """They are ordered by key, not by version: resuming from one of them would lose others."""
    driver = streaming()
    driver.send(EventsReceived, "999", 1)
    assert driver.state.version == ""
    driver.send(WatchFailed, ConnectionLost("reset"))
    assert isinstance(driver.state.phase, Listing)
    assert driver.state.phase.options.resource_version == ""


def test_initial_events_are_buffered_until_the_commit() -> None:
    """The driver reads from the state where objects belong."""
    driver = streaming()
    assert driver.state.is_initial
    driver.send(BookmarkReceived, "120", initial_events_end=True)
    assert not driver.state.is_initial


@pytest.mark.parametrize(
    "error",
    [NOT_SUPPORTED, BadRequest("?", code=400), ConnectionLost("reset"), Forbidden("no", code=403), DecodeError("?")],
    ids=lambda error: type(error).__name__,
)
def test_stream_that_fails_falls_back_to_a_list(error: SteersmanError) -> None:
    """Whatever is wrong with streaming, a list may still work."""
    begin, page = streaming().send(WatchFailed, error)
    assert begin == Begin()
    assert page.options.resource_version == ""


def test_server_that_rejected_streaming_is_not_asked_again() -> None:
    """One rejected request per process is enough."""
    driver = streaming()
    driver.send(WatchFailed, NOT_SUPPORTED)
    driver.send(PageReceived, "100")
    assert isinstance(only(driver.send(WatchFailed, EXPIRED), List), List)


def test_server_that_ignores_the_parameter_without_bookmarks_is_detected_by_silence() -> None:
    """It sends the existing objects and then nothing: waiting for an end that never comes must happen only once."""
    driver = streaming()
    driver.send(EventsReceived, "90", 3)
    assert isinstance(driver.later(70).send(WatchFailed, NoAnswer("70 s without a byte"))[-1], List)
    driver.send(PageReceived, "100")
    assert isinstance(only(driver.send(WatchFailed, EXPIRED), List), List)


def test_server_whose_stream_broke_once_is_asked_for_a_stream_again() -> None:
    """A broken connection does not show what the server supports."""
    driver = streaming()
    driver.send(WatchFailed, ConnectionLost("reset"))
    driver.send(PageReceived, "100")
    watch = only(driver.send(WatchFailed, EXPIRED), Watch)
    assert (watch.options.send_initial_events, watch.options.resource_version) == (True, "100")


def test_server_that_ignores_the_parameter_is_detected_by_its_first_bookmark() -> None:
    """Old servers answer with an ordinary watch, whose initial events never end."""
    begin, page = streaming().send(BookmarkReceived, "120")
    assert begin == Begin()
    assert isinstance(page, List)


def test_stream_that_closes_before_its_end_falls_back_to_a_list() -> None:
    """An incomplete state must never be committed."""
    driver = streaming()
    driver.send(EventsReceived, "90", 3)
    assert [type(effect) for effect in driver.send(WatchClosed)] == [Begin, List]


@pytest.mark.parametrize("error", [BUSY, REFUSED], ids=["429", "refused"])
def test_stream_rejected_by_a_busy_or_unreachable_server_is_retried_not_listed(error: SteersmanError) -> None:
    """A list would only increase the load."""
    driver = streaming()
    assert isinstance(driver.send(WatchFailed, error)[-1], Wait)
    assert only(driver.send(Woken), Watch).options.send_initial_events


def test_stream_whose_version_the_server_lacks_is_retried_at_once_from_a_quorum() -> None:
    """A future version is answered with ERROR inside a 200."""
    driver = watching("999999", watch_list=True)
    driver.send(WatchFailed, EXPIRED)
    watch = only(driver.send(WatchFailed, TOO_LARGE), Watch)
    assert (watch.options.send_initial_events, watch.options.resource_version) == (True, "")
    assert isinstance(driver.send(WatchFailed, TOO_LARGE)[-1], Wait)


# Watching.


def test_watch_requests_bookmarks_and_a_random_timeout_of_5_to_10_minutes() -> None:
    """Watches that all end at once would all reconnect at once."""
    for chance, seconds in ((0.0, 300), (0.5, 450), (0.999, 599)):
        driver = Driver(State(version="100"), chance=chance)
        (watch,) = driver.send(Started)
        assert watch.options.timeout_seconds == seconds
        assert watch.options.allow_bookmarks


def test_events_and_bookmarks_update_the_version() -> None:
    """The next watch begins there."""
    driver = watching("100")
    driver.send(EventsReceived, "105", 4)
    assert driver.state.version == "105"
    driver.send(BookmarkReceived, "200")
    assert driver.state.version == "200"


def test_event_without_a_version_keeps_the_last_one() -> None:
    """Resuming without a version would send everything again."""
    driver = watching("100")
    driver.send(EventsReceived, "", 1)
    assert driver.state.version == "100"


def test_normal_close_resumes_at_once_without_a_list() -> None:
    """The server ends every watch at some time: that is not a failure."""
    driver = watching("100")
    driver.send(EventsReceived, "105", 4)
    (watch,) = driver.later(0.1).send(WatchClosed)
    assert watch.options.resource_version == "105"
    assert not watch.options.send_initial_events
    assert driver.state.failures == 0


def test_server_without_bookmarks_still_works() -> None:
    """They are requested, but not relied on."""
    driver = watching("100")
    driver.send(EventsReceived, "105", 1)
    assert isinstance(driver.later(400).send(WatchClosed)[0], Watch)
    driver.later(400).send(WatchClosed)
    driver.send(PageReceived, "105")
    assert driver.state.phase == Watching(driver.now)


def test_watch_closed_within_a_second_without_events_is_a_failure() -> None:
    """A server that closes every watch at once must not be called in a loop."""
    driver = watching("100")
    report, wait = driver.later(0.9).send(WatchClosed)
    assert isinstance(report.error, ConnectionLost)
    assert wait == Wait(0.8)
    assert only(driver.send(Woken), Watch).options.resource_version == "100"


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        REFUSED,
        TlsError("expired"),
        BadAnswer("html"),
        ServiceUnavailable("no", code=503),
        Timeout("slow", code=504),
        Unauthorized("who?", code=401),
    ],
    ids=lambda error: type(error).__name__,
)
def test_busy_or_unreachable_server_is_watched_again_never_listed(error: SteersmanError) -> None:
    """If every client listed at once, a server that has just restarted would fail again."""
    driver = watching("100")
    for _ in range(20):
        report, wait = driver.later(1).send(WatchFailed, error)
        assert report == Report(error)
        assert isinstance(wait, Wait)
        (watch,) = driver.later(wait.seconds).send(Woken)
        assert (watch.options.resource_version, watch.options.send_initial_events) == ("100", False)


def test_delay_is_never_shorter_than_retry_after() -> None:
    """The server would reject an earlier request again."""
    driver = watching("100")
    assert driver.send(WatchFailed, BUSY)[-1] == Wait(7.0)


@pytest.mark.parametrize("error", [EXPIRED, GONE], ids=["expired", "gone"])
def test_expired_version_is_followed_by_a_new_list_at_once(error: ApiError) -> None:
    """It arrives as HTTP 410 or as ERROR inside a 200; both become ``WatchFailed``."""
    effects = watching("100").send(WatchFailed, error)
    assert [type(effect) for effect in effects] == [Report, Begin, List]


def test_versions_that_expire_repeatedly_are_followed_by_delays() -> None:
    """A hot loop of relists is the worst that a client can do to a server."""
    driver = watching("100")
    driver.send(WatchFailed, EXPIRED)
    driver.send(PageReceived, "101")
    assert driver.send(WatchFailed, EXPIRED)[-1] == Wait(1.6)
    assert driver.state.phase == Waiting("sync")


def test_internal_errors_are_retried_for_a_minute_before_a_list() -> None:
    """A temporary error does not invalidate the cache; a lasting one may be about the version."""
    driver = watching("100")
    failure = InternalError("etcdserver: leader changed", code=500)
    began = driver.now
    while driver.now - began < 60:
        wait = driver.send(WatchFailed, failure)[-1]
        assert driver.state.phase == Waiting("watch")
        assert isinstance(wait, Wait)
        driver.later(wait.seconds).send(Woken)
    driver.send(WatchFailed, failure)
    assert driver.state.phase == Waiting("sync")


def test_event_between_internal_errors_resets_the_minute() -> None:
    """It counts only while nothing else arrives."""
    driver = watching("100")
    failure = InternalError("?", code=500)
    driver.send(WatchFailed, failure)
    driver.later(50).send(Woken)
    driver.send(EventsReceived, "101", 1)
    driver.later(50).send(WatchFailed, failure)
    assert driver.state.phase == Waiting("watch")


def test_version_that_the_server_has_not_reached_is_followed_by_a_quorum_list() -> None:
    """The version belongs to another history, and this server will never reach it."""
    assert only(watching("999").send(WatchFailed, TOO_LARGE), List).options.resource_version == ""


@pytest.mark.parametrize(
    "error",
    [Forbidden("no", code=403), NotFound("no such resource", code=404), DecodeError("not JSON")],
    ids=lambda error: type(error).__name__,
)
def test_other_failures_are_followed_by_a_delay_and_a_new_list(error: SteersmanError) -> None:
    """If it is unknown what was missed, everything is read again."""
    driver = watching("100")
    assert isinstance(driver.send(WatchFailed, error)[-1], Wait)
    assert driver.state.phase == Waiting("sync")


@pytest.mark.parametrize("error", [ConnectionLost("reset"), NoAnswer("silent")], ids=["lost", "idle"])
def test_broken_connection_is_resumed_like_a_closed_one(error: SteersmanError) -> None:
    """Load balancers cut long connections; the version says where to resume."""
    driver = watching("100")
    driver.send(EventsReceived, "105", 1)
    (watch,) = driver.later(0.1).send(WatchFailed, error)
    assert watch.options.resource_version == "105"


def test_silent_watch_is_followed_by_a_check_of_the_servers_version() -> None:
    """A watch from a future version is silent forever: only a list can reveal that."""
    driver = watching("100")
    (probe,) = driver.later(70).send(WatchFailed, NoAnswer("70 s without a byte"))
    assert isinstance(probe, Probe)
    assert (probe.options.limit, probe.options.resource_version) == (1, "")


def test_server_that_is_not_behind_is_watched_again() -> None:
    """Silence of a resource that does not change is the normal case."""
    driver = watching("100")
    driver.later(70).send(WatchFailed, NoAnswer("?"))
    (watch,) = driver.send(PageReceived, "100", "more")
    assert watch.options.resource_version == "100"


def test_server_with_an_older_history_causes_a_quorum_list() -> None:
    """After a restored backup the versions are smaller, and the cache contains objects that do not exist."""
    driver = watching("1000")
    driver.later(70).send(WatchFailed, NoAnswer("?"))
    begin, page = driver.send(PageReceived, "999")
    assert begin == Begin()
    assert page.options.resource_version == ""
    driver.send(PageReceived, "999")
    assert driver.state.version == "999"


def test_failed_check_of_the_servers_version_is_followed_by_a_delay() -> None:
    """It failed because the server is unavailable: no reason to list."""
    driver = watching("100")
    driver.later(70).send(WatchFailed, NoAnswer("?"))
    driver.send(ListFailed, REFUSED)
    assert driver.state.phase == Waiting("watch")


def test_events_of_a_watch_without_version_count_only_from_the_first_change() -> None:
    """Synthetic events at its beginning are not ordered."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    driver.send(Started)
    driver.send(PageReceived, "")
    driver.send(EventsReceived, "90", 5, only_added=True)
    assert driver.state.version == ""
    driver.send(EventsReceived, "95", 2, only_added=False)
    assert driver.state.version == "95"
    driver.send(EventsReceived, "96", 1, only_added=True)
    assert driver.state.version == "96"


def test_bookmark_ends_the_unordered_initial_events_as_well() -> None:
    """It means that everything before it was sent."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    driver.send(Started)
    driver.send(PageReceived, "0")
    driver.send(EventsReceived, "90", 5, only_added=True)
    driver.send(BookmarkReceived, "97")
    driver.send(EventsReceived, "98", 1, only_added=True)
    assert driver.state.version == "98"


def test_machine_created_with_a_version_resumes_from_it() -> None:
    """A caller that knows a version needs no list."""
    (watch,) = Driver(State(version="77")).send(Started)
    assert watch.options.resource_version == "77"


# Backing off.


def test_delays_double_from_800_ms_to_30_s() -> None:
    """The numbers of client-go, which servers are built for."""
    driver = watching("100")
    pauses = []
    for _ in range(8):
        wait = driver.send(WatchFailed, REFUSED)[-1]
        assert isinstance(wait, Wait)
        pauses.append(wait.seconds)
        driver.later(wait.seconds).send(Woken)
    assert pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_jitter_makes_a_delay_up_to_twice_as_long() -> None:
    """Clients that failed together must not retry together."""
    driver = watching("100")
    driver.chance = 0.5
    assert driver.send(WatchFailed, REFUSED)[-1] == Wait(pytest.approx(1.2))


def test_two_minutes_without_failure_reset_the_delay() -> None:
    """Old failures must not slow down the recovery from new ones."""
    driver = watching("100")
    for _ in range(5):
        driver.send(WatchFailed, REFUSED)
        driver.send(Woken)
    assert driver.later(121).send(WatchFailed, REFUSED)[-1] == Wait(0.8)


def test_less_than_two_minutes_without_failure_do_not_reset_the_delay() -> None:
    """A server that fails every minute is not healthy."""
    driver = watching("100")
    driver.send(WatchFailed, REFUSED)
    driver.send(Woken)
    driver.send(EventsReceived, "101", 1)
    assert driver.later(60).send(WatchFailed, REFUSED)[-1] == Wait(1.6)


# The machine as a whole.


def test_unexpected_input_is_a_bug_of_the_driver() -> None:
    """Events of an abandoned stream would corrupt the buffer, so it raises."""
    driver = listing()
    with pytest.raises(ValueError, match="EventsReceived while Listing"):
        driver.send(EventsReceived, "1", 1)


def test_page_size_must_be_positive() -> None:
    """A size of zero would silently request everything at once."""
    with pytest.raises(ValueError, match="page_size"):
        ListWatchSettings(page_size=0)


_ERRORS = (EXPIRED, TOO_LARGE, BUSY, REFUSED, NOT_SUPPORTED, ConnectionLost("x"), NoAnswer("x"), DecodeError("x"))


def _possible(state: State, draw: Any, now: float) -> Any:
    """Generate some input that law 3 allows now."""
    chance, version = draw(st.floats(0, 0.99)), str(draw(st.integers(1, 50)))
    error = draw(st.sampled_from(_ERRORS))
    match state.phase:
        case Listing() | Probing():
            token = draw(st.sampled_from(["", "", "next"]))
            return draw(st.sampled_from([PageReceived(now, chance, version, token), ListFailed(now, chance, error)]))
        case Streaming() | Watching():
            return draw(
                st.sampled_from(
                    [
                        EventsReceived(now, chance, version, 2),
                        BookmarkReceived(now, chance, version, draw(st.booleans())),
                        WatchClosed(now, chance),
                        WatchFailed(now, chance, error),
                    ]
                )
            )
        case Waiting():
            return Woken(now, chance)
        case _:
            return Started(now, chance)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_only_a_complete_state_is_committed(data: st.DataObject) -> None:
    """Whatever the network does, every commit follows a begin, and there is always a next step."""
    state, now, is_open = State(), 0.0, False
    for _ in range(40):
        now += data.draw(st.floats(0, 100))
        state, effects = step(state, _possible(state, data.draw, now))
        for effect in effects:
            if isinstance(effect, Begin):
                is_open = True
            elif isinstance(effect, Commit):
                assert is_open
                is_open = False
        under_way = [effect for effect in effects if isinstance(effect, (List, Probe, Watch, Wait))]
        assert len(under_way) <= 1
        assert state.is_initial <= is_open


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_failures_alone_never_cause_a_hot_loop(data: st.DataObject) -> None:
    """A server that answers everything with an error gets a bounded number of requests a minute."""
    state, now, asked = State(version="100"), 0.0, 0
    state, _ = step(state, Started(now, 0.0))
    while now < 60.0:
        error = data.draw(st.sampled_from(_ERRORS))
        match state.phase:
            case Waiting():
                given: Any = Woken(now, 0.0)
            case Listing() | Probing():
                given = ListFailed(now, 0.0, error)
            case _:
                given = WatchFailed(now, 0.0, error)
        state, effects = step(state, given)
        for effect in effects:
            if isinstance(effect, Wait):
                now += effect.seconds
            asked += isinstance(effect, (List, Watch, Probe))
    assert asked < 30
