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
    """Carries the machine from input to input, and the time with it."""

    state: State = field(default_factory=State)
    now: float = 1000.0
    chance: float = 0.0

    def tell(self, kind: type[Any], *values: Any, **named: Any) -> tuple[Effect, ...]:
        """Give the machine one input at the present time."""
        self.state, effects = step(self.state, kind(self.now, self.chance, *values, **named))
        return effects

    def later(self, seconds: float) -> "Driver":
        """Let time pass."""
        self.now += seconds
        return self


def only(effects: tuple[Effect, ...], kind: type[Any]) -> Any:
    """Give the one effect of a kind among others."""
    (found,) = [effect for effect in effects if isinstance(effect, kind)]
    return found


def listing(**options: Any) -> Driver:
    """Give a machine that has just asked for its first page, without WatchList."""
    driver = Driver(State(ListWatchSettings(watch_list=False, **options)))
    driver.tell(Started)
    return driver


def watching(version: str = "100", *, watch_list: bool = False) -> Driver:
    """Give a machine that follows the server from a version."""
    driver = Driver(State(ListWatchSettings(watch_list=watch_list), version=version))
    driver.tell(Started)
    return driver


def streaming() -> Driver:
    """Give a machine that reads its initial state as a stream."""
    driver = Driver()
    driver.tell(Started)
    return driver


# The first list, and lists after it.


def test_first_list_is_the_newest_state() -> None:
    """Version "0" allows the cache of any replica: after a restart the operator would act on the past."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    begin, page = driver.tell(Started)
    assert begin == Begin()
    assert page.options.resource_version == ""


def test_first_list_is_read_in_pages_of_500() -> None:
    """Large lists must not arrive in one piece."""
    assert listing().state.phase.options.limit == 500


def test_next_page_carries_the_token_and_neither_version_nor_match() -> None:
    """The token knows its version; naming another is an error on the server."""
    driver = listing()
    page = only(driver.tell(PageReceived, "120", "next"), List)
    assert (page.options.continue_, page.options.limit, page.options.resource_version) == ("next", 500, "")


def test_pages_are_not_committed_before_the_last_one() -> None:
    """A replica with half of its objects would look like the deletion of the other half."""
    driver = listing()
    assert [type(effect) for effect in driver.tell(PageReceived, "120", "next")] == [List]
    assert [type(effect) for effect in driver.tell(PageReceived, "120")] == [Commit, Watch]


def test_watch_begins_at_the_version_of_the_list() -> None:
    """Between list and watch no change may be lost."""
    commit, watch = listing().tell(PageReceived, "120")
    assert (commit.version, watch.options.resource_version) == ("120", "120")


def test_relist_asks_for_nothing_older_than_what_was_seen() -> None:
    """A stale server must not take the replica back in time."""
    driver = watching("100")
    effects = driver.tell(WatchFailed, EXPIRED)
    assert only(effects, List).options.resource_version == "100"


def test_list_at_a_version_is_not_paged() -> None:
    """A limit would make the server bypass its memory and read from its store."""
    driver = watching("100")
    assert only(driver.tell(WatchFailed, EXPIRED), List).options.limit == 0


@pytest.mark.parametrize("error", [EXPIRED, GONE, TOO_LARGE], ids=["expired", "gone", "too-large"])
def test_list_whose_version_the_server_lacks_is_repeated_at_once_from_a_quorum(error: ApiError) -> None:
    """Only the version is at fault, so there is nothing to wait for."""
    driver = watching("100")
    driver.tell(WatchFailed, EXPIRED)
    begin, page = driver.tell(ListFailed, error)
    assert begin == Begin()
    assert (page.options.resource_version, page.options.limit) == ("", 500)


def test_quorum_is_no_longer_asked_for_after_a_success() -> None:
    """The flag is for one recovery; later lists may come from memory again."""
    driver = watching("100")
    driver.tell(WatchFailed, EXPIRED)
    driver.tell(ListFailed, EXPIRED)
    driver.tell(PageReceived, "300")
    assert only(driver.later(600).tell(WatchFailed, EXPIRED), List).options.resource_version == "300"


def test_quorum_list_that_fails_as_well_is_followed_by_a_pause() -> None:
    """A server that always says 410 must not be asked in a loop."""
    driver = watching("100")
    driver.tell(WatchFailed, EXPIRED)
    driver.tell(ListFailed, EXPIRED)
    assert isinstance(driver.tell(ListFailed, EXPIRED)[-1], Wait)


def test_expired_continue_token_is_followed_by_a_full_list() -> None:
    """The snapshot of the pages is gone: the pages so far are thrown away and all is read in one piece."""
    driver = listing()
    driver.tell(PageReceived, "120", "next")
    begin, page = driver.tell(ListFailed, EXPIRED)
    assert begin == Begin()
    assert (page.options.continue_, page.options.limit, page.options.resource_version) == ("", 0, "")


def test_failed_list_is_repeated_after_a_pause_and_from_the_start() -> None:
    """Half a list is of no use after a pause."""
    driver = listing()
    driver.tell(PageReceived, "120", "next")
    report, wait = driver.tell(ListFailed, ServiceUnavailable("no", code=503))
    assert isinstance(report, Report)
    assert wait == Wait(0.8)
    begin, page = driver.tell(Woken)
    assert begin == Begin()
    assert page.options.continue_ == ""


def test_selectors_go_with_every_request() -> None:
    """A replica of a selection must never see the rest."""
    settings_ = ListWatchSettings(label_selector="app=web", field_selector="spec.nodeName=a", watch_list=False)
    driver = Driver(State(settings_))
    asked = [driver.tell(Started)[-1], driver.tell(PageReceived, "1", "next")[-1], driver.tell(PageReceived, "1")[-1]]
    driver.later(5).tell(WatchClosed)
    assert isinstance(driver.state.phase, Probing)
    for effect in asked:
        assert (effect.options.label_selector, effect.options.field_selector) == ("app=web", "spec.nodeName=a")


# WatchList.


def test_initial_state_is_asked_for_as_a_stream_first() -> None:
    """WatchList needs no memory for a whole list, on either side."""
    begin, watch = Driver().tell(Started)
    assert begin == Begin()
    assert watch.options.send_initial_events
    assert watch.options.resource_version == ""
    assert "resourceVersionMatch=NotOlderThan" in watch.options.query
    assert "allowWatchBookmarks=true" in watch.options.query


def test_stream_is_committed_at_the_annotated_bookmark_and_goes_on() -> None:
    """The same connection that brought the state brings the changes."""
    driver = streaming()
    assert driver.tell(EventsReceived, "90", 3) == ()
    assert driver.tell(BookmarkReceived, "120", initial_events_end=True) == (Commit("120"),)
    assert isinstance(driver.state.phase, Watching)
    assert driver.state.version == "120"


def test_initial_events_do_not_move_the_version() -> None:
    """They come ordered by key, not by version: resuming from one of them would lose others."""
    driver = streaming()
    driver.tell(EventsReceived, "999", 1)
    assert driver.state.version == ""
    driver.tell(WatchFailed, ConnectionLost("reset"))
    assert isinstance(driver.state.phase, Listing)
    assert driver.state.phase.options.resource_version == ""


def test_what_streams_in_goes_into_the_buffer_until_the_commit() -> None:
    """The driver asks the state where objects belong."""
    driver = streaming()
    assert driver.state.is_initial
    driver.tell(BookmarkReceived, "120", initial_events_end=True)
    assert not driver.state.is_initial


@pytest.mark.parametrize(
    "error",
    [NOT_SUPPORTED, BadRequest("?", code=400), ConnectionLost("reset"), Forbidden("no", code=403), DecodeError("?")],
    ids=lambda error: type(error).__name__,
)
def test_stream_that_fails_falls_back_to_a_list(error: SteersmanError) -> None:
    """Whatever is wrong with streaming, the list may still work."""
    begin, page = streaming().tell(WatchFailed, error)
    assert begin == Begin()
    assert page.options.resource_version == ""


def test_server_that_refused_streaming_is_not_asked_again() -> None:
    """One refused request a life is enough."""
    driver = streaming()
    driver.tell(WatchFailed, NOT_SUPPORTED)
    driver.tell(PageReceived, "100")
    assert isinstance(only(driver.tell(WatchFailed, EXPIRED), List), List)


def test_server_that_ignores_the_parameter_and_sends_no_bookmarks_is_noticed_by_its_silence() -> None:
    """It sends what there is and then nothing: waiting for an end that never comes must happen only once."""
    driver = streaming()
    driver.tell(EventsReceived, "90", 3)
    assert isinstance(driver.later(70).tell(WatchFailed, NoAnswer("70 s without a byte"))[-1], List)
    driver.tell(PageReceived, "100")
    assert isinstance(only(driver.tell(WatchFailed, EXPIRED), List), List)


def test_server_whose_stream_broke_once_is_asked_for_a_stream_again() -> None:
    """A broken connection says nothing about what the server supports."""
    driver = streaming()
    driver.tell(WatchFailed, ConnectionLost("reset"))
    driver.tell(PageReceived, "100")
    watch = only(driver.tell(WatchFailed, EXPIRED), Watch)
    assert (watch.options.send_initial_events, watch.options.resource_version) == (True, "100")


def test_server_that_ignores_the_parameter_is_noticed_by_its_first_bookmark() -> None:
    """Old servers answer with an ordinary watch, whose initial events never end."""
    begin, page = streaming().tell(BookmarkReceived, "120")
    assert begin == Begin()
    assert isinstance(page, List)


def test_stream_that_closes_before_its_end_falls_back_to_a_list() -> None:
    """An incomplete state must never be committed."""
    driver = streaming()
    driver.tell(EventsReceived, "90", 3)
    assert [type(effect) for effect in driver.tell(WatchClosed)] == [Begin, List]


@pytest.mark.parametrize("error", [BUSY, REFUSED], ids=["429", "refused"])
def test_stream_refused_by_a_busy_or_absent_server_is_repeated_not_listed(error: SteersmanError) -> None:
    """A list would only add to the load."""
    driver = streaming()
    assert isinstance(driver.tell(WatchFailed, error)[-1], Wait)
    assert only(driver.tell(Woken), Watch).options.send_initial_events


def test_stream_whose_version_the_server_lacks_is_repeated_at_once_from_a_quorum() -> None:
    """A version from the future comes as ERROR inside a 200."""
    driver = watching("999999", watch_list=True)
    driver.tell(WatchFailed, EXPIRED)
    watch = only(driver.tell(WatchFailed, TOO_LARGE), Watch)
    assert (watch.options.send_initial_events, watch.options.resource_version) == (True, "")
    assert isinstance(driver.tell(WatchFailed, TOO_LARGE)[-1], Wait)


# Watching.


def test_watch_asks_for_bookmarks_and_a_random_end_between_5_and_10_minutes() -> None:
    """Watches that all end at once would come back all at once."""
    for chance, seconds in ((0.0, 300), (0.5, 450), (0.999, 599)):
        driver = Driver(State(version="100"), chance=chance)
        (watch,) = driver.tell(Started)
        assert watch.options.timeout_seconds == seconds
        assert watch.options.allow_bookmarks


def test_events_and_bookmarks_move_the_version() -> None:
    """It is where the next watch begins."""
    driver = watching("100")
    driver.tell(EventsReceived, "105", 4)
    assert driver.state.version == "105"
    driver.tell(BookmarkReceived, "200")
    assert driver.state.version == "200"


def test_event_without_a_version_does_not_lose_the_place() -> None:
    """Resuming from nothing would show everything again."""
    driver = watching("100")
    driver.tell(EventsReceived, "", 1)
    assert driver.state.version == "100"


def test_proper_close_resumes_at_once_without_a_list() -> None:
    """The server ends every watch some time: that is no failure."""
    driver = watching("100")
    driver.tell(EventsReceived, "105", 4)
    (watch,) = driver.later(0.1).tell(WatchClosed)
    assert watch.options.resource_version == "105"
    assert not watch.options.send_initial_events
    assert driver.state.failures == 0


def test_server_without_bookmarks_still_works() -> None:
    """Bookmarks are asked for, never counted on."""
    driver = watching("100")
    driver.tell(EventsReceived, "105", 1)
    assert isinstance(driver.later(400).tell(WatchClosed)[0], Watch)
    driver.later(400).tell(WatchClosed)
    driver.tell(PageReceived, "105")
    assert driver.state.phase == Watching(driver.now)


def test_watch_closed_within_a_second_without_events_is_a_failure() -> None:
    """A server that closes every watch at once must not be asked in a loop."""
    driver = watching("100")
    report, wait = driver.later(0.9).tell(WatchClosed)
    assert isinstance(report.error, ConnectionLost)
    assert wait == Wait(0.8)
    assert only(driver.tell(Woken), Watch).options.resource_version == "100"


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
def test_busy_or_absent_server_is_watched_again_never_listed(error: SteersmanError) -> None:
    """Every replica listing at once is how a server that comes back is killed again."""
    driver = watching("100")
    for _ in range(20):
        report, wait = driver.later(1).tell(WatchFailed, error)
        assert report == Report(error)
        assert isinstance(wait, Wait)
        (watch,) = driver.later(wait.seconds).tell(Woken)
        assert (watch.options.resource_version, watch.options.send_initial_events) == ("100", False)


def test_pause_is_never_shorter_than_the_server_asks_for() -> None:
    """``Retry-After`` is a promise of what will happen before it."""
    driver = watching("100")
    assert driver.tell(WatchFailed, BUSY)[-1] == Wait(7.0)


@pytest.mark.parametrize("error", [EXPIRED, GONE], ids=["expired", "gone"])
def test_expired_version_is_followed_by_a_new_state_at_once(error: ApiError) -> None:
    """It comes as HTTP 410 or as ERROR inside a 200; both are told as ``WatchFailed``."""
    effects = watching("100").tell(WatchFailed, error)
    assert [type(effect) for effect in effects] == [Report, Begin, List]


def test_versions_that_expire_again_and_again_are_followed_by_pauses() -> None:
    """A hot loop of relists is the worst that a client can do to a server."""
    driver = watching("100")
    driver.tell(WatchFailed, EXPIRED)
    driver.tell(PageReceived, "101")
    assert driver.tell(WatchFailed, EXPIRED)[-1] == Wait(1.6)
    assert driver.state.phase == Waiting("sync")


def test_internal_errors_are_answered_by_watching_again_for_a_minute_then_by_a_list() -> None:
    """The server's hiccup is not the replica's; an error that stays may be about the version."""
    driver = watching("100")
    failure = InternalError("etcdserver: leader changed", code=500)
    began = driver.now
    while driver.now - began < 60:
        wait = driver.tell(WatchFailed, failure)[-1]
        assert driver.state.phase == Waiting("watch")
        assert isinstance(wait, Wait)
        driver.later(wait.seconds).tell(Woken)
    driver.tell(WatchFailed, failure)
    assert driver.state.phase == Waiting("sync")


def test_event_between_internal_errors_ends_their_series() -> None:
    """The minute counts only while nothing else comes."""
    driver = watching("100")
    failure = InternalError("?", code=500)
    driver.tell(WatchFailed, failure)
    driver.later(50).tell(Woken)
    driver.tell(EventsReceived, "101", 1)
    driver.later(50).tell(WatchFailed, failure)
    assert driver.state.phase == Waiting("watch")


def test_version_that_the_server_has_not_reached_is_followed_by_a_quorum_state() -> None:
    """The version is from another history: nothing that this server will ever send."""
    assert only(watching("999").tell(WatchFailed, TOO_LARGE), List).options.resource_version == ""


@pytest.mark.parametrize(
    "error",
    [Forbidden("no", code=403), NotFound("no such resource", code=404), DecodeError("not JSON")],
    ids=lambda error: type(error).__name__,
)
def test_other_failures_are_followed_by_a_pause_and_a_new_state(error: SteersmanError) -> None:
    """When it is not known what was missed, everything is read again."""
    driver = watching("100")
    assert isinstance(driver.tell(WatchFailed, error)[-1], Wait)
    assert driver.state.phase == Waiting("sync")


@pytest.mark.parametrize("error", [ConnectionLost("reset"), NoAnswer("silent")], ids=["lost", "idle"])
def test_broken_connection_is_resumed_like_a_closed_one(error: SteersmanError) -> None:
    """Load balancers cut long connections; the version says where to go on."""
    driver = watching("100")
    driver.tell(EventsReceived, "105", 1)
    (watch,) = driver.later(0.1).tell(WatchFailed, error)
    assert watch.options.resource_version == "105"


def test_silent_watch_is_followed_by_a_look_at_the_servers_version() -> None:
    """A watch from a version in the future is silent for ever: only a list can tell."""
    driver = watching("100")
    (probe,) = driver.later(70).tell(WatchFailed, NoAnswer("70 s without a byte"))
    assert isinstance(probe, Probe)
    assert (probe.options.limit, probe.options.resource_version) == (1, "")


def test_server_that_is_not_behind_is_watched_again() -> None:
    """Silence of a resource that does not change is the usual case."""
    driver = watching("100")
    driver.later(70).tell(WatchFailed, NoAnswer("?"))
    (watch,) = driver.tell(PageReceived, "100", "more")
    assert watch.options.resource_version == "100"


def test_server_whose_history_was_set_back_gives_a_new_state_from_a_quorum() -> None:
    """After a restored backup the versions are smaller, and the replica holds objects that never were."""
    driver = watching("1000")
    driver.later(70).tell(WatchFailed, NoAnswer("?"))
    begin, page = driver.tell(PageReceived, "999")
    assert begin == Begin()
    assert page.options.resource_version == ""
    driver.tell(PageReceived, "999")
    assert driver.state.version == "999"


def test_failed_look_at_the_servers_version_is_followed_by_a_pause() -> None:
    """It failed because the server is away: no reason to list."""
    driver = watching("100")
    driver.later(70).tell(WatchFailed, NoAnswer("?"))
    driver.tell(ListFailed, REFUSED)
    assert driver.state.phase == Waiting("watch")


def test_events_of_a_watch_without_version_count_only_from_the_first_change() -> None:
    """Synthetic events at its beginning come in no order."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    driver.tell(Started)
    driver.tell(PageReceived, "")
    driver.tell(EventsReceived, "90", 5, only_added=True)
    assert driver.state.version == ""
    driver.tell(EventsReceived, "95", 2, only_added=False)
    assert driver.state.version == "95"
    driver.tell(EventsReceived, "96", 1, only_added=True)
    assert driver.state.version == "96"


def test_bookmark_ends_the_unordered_beginning_as_well() -> None:
    """It says that everything before it was sent."""
    driver = Driver(State(ListWatchSettings(watch_list=False)))
    driver.tell(Started)
    driver.tell(PageReceived, "0")
    driver.tell(EventsReceived, "90", 5, only_added=True)
    driver.tell(BookmarkReceived, "97")
    driver.tell(EventsReceived, "98", 1, only_added=True)
    assert driver.state.version == "98"


def test_machine_born_with_a_version_resumes_from_it() -> None:
    """A caller that knows a version needs no list."""
    (watch,) = Driver(State(version="77")).tell(Started)
    assert watch.options.resource_version == "77"


# Backing off.


def test_pauses_double_from_800_ms_to_30_s() -> None:
    """The numbers of client-go, which servers are built for."""
    driver = watching("100")
    pauses = []
    for _ in range(8):
        wait = driver.tell(WatchFailed, REFUSED)[-1]
        assert isinstance(wait, Wait)
        pauses.append(wait.seconds)
        driver.later(wait.seconds).tell(Woken)
    assert pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_chance_makes_a_pause_up_to_twice_as_long() -> None:
    """Clients that failed together must not come back together."""
    driver = watching("100")
    driver.chance = 0.5
    assert driver.tell(WatchFailed, REFUSED)[-1] == Wait(pytest.approx(1.2))


def test_two_minutes_without_failure_make_the_next_one_a_first() -> None:
    """Old troubles must not slow down the recovery from new ones."""
    driver = watching("100")
    for _ in range(5):
        driver.tell(WatchFailed, REFUSED)
        driver.tell(Woken)
    assert driver.later(121).tell(WatchFailed, REFUSED)[-1] == Wait(0.8)


def test_less_than_two_minutes_of_health_do_not_reset_the_pauses() -> None:
    """A server that fails every minute is not well."""
    driver = watching("100")
    driver.tell(WatchFailed, REFUSED)
    driver.tell(Woken)
    driver.tell(EventsReceived, "101", 1)
    assert driver.later(60).tell(WatchFailed, REFUSED)[-1] == Wait(1.6)


# The machine as a whole.


def test_input_that_makes_no_sense_is_a_bug_of_the_driver() -> None:
    """Events of a stream that was given up would corrupt the buffer: better to fail loudly."""
    driver = listing()
    with pytest.raises(ValueError, match="EventsReceived while Listing"):
        driver.tell(EventsReceived, "1", 1)


def test_page_size_must_be_positive() -> None:
    """A size of zero would ask for everything at once without saying so."""
    with pytest.raises(ValueError, match="page_size"):
        ListWatchSettings(page_size=0)


_ERRORS = (EXPIRED, TOO_LARGE, BUSY, REFUSED, NOT_SUPPORTED, ConnectionLost("x"), NoAnswer("x"), DecodeError("x"))


def _possible(state: State, draw: Any, now: float) -> Any:
    """Give some input that law 3 allows now."""
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
def test_replica_is_committed_only_from_a_complete_state(data: st.DataObject) -> None:
    """Whatever the network does: every commit closes a bracket that was opened, and something is always under way."""
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
def test_failures_alone_never_make_a_hot_loop(data: st.DataObject) -> None:
    """A server that answers everything with an error is asked a bounded number of times a minute."""
    state, now, asked = State(version="100"), 0.0, 0
    state, _ = step(state, Started(now, 0.0))
    while now < 60.0:
        error = data.draw(st.sampled_from(_ERRORS))
        match state.phase:
            case Waiting():
                told: Any = Woken(now, 0.0)
            case Listing() | Probing():
                told = ListFailed(now, 0.0, error)
            case _:
                told = WatchFailed(now, 0.0, error)
        state, effects = step(state, told)
        for effect in effects:
            if isinstance(effect, Wait):
                now += effect.seconds
            asked += isinstance(effect, (List, Watch, Probe))
    assert asked < 30
