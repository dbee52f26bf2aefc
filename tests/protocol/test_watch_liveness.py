"""When a watch is considered dead, by the clock alone."""

import pytest

from steersman.protocol.watch_liveness import (
    DOUBTED,
    NO_EVENT,
    OVERDUE,
    QUIET,
    GiveUp,
    KeepWaiting,
    ProbeServer,
    WatchLiveness,
)
from steersman.transport.limits import Limits


def test_a_watch_with_a_recent_event_is_waited_for() -> None:
    """Until the server is pinged."""
    liveness = WatchLiveness(0.0, 300.0)
    liveness.begin_waiting(100.0)
    assert liveness.step(100.0) == KeepWaiting(QUIET)


def test_a_quiet_watch_pings_the_server_and_continues() -> None:
    """Silence does not mean failure: while the server answers, the watch is kept until a bookmark is overdue."""
    liveness = WatchLiveness(0.0, 300.0)
    assert liveness.step(QUIET) == ProbeServer()
    liveness.server_responded(QUIET + 1.0)
    assert liveness.step(QUIET + 1.0) == KeepWaiting(QUIET)


def test_a_watch_without_an_event_is_dead_although_the_server_answers() -> None:
    """The server may have lost this watch while it answers everything else."""
    liveness = WatchLiveness(0.0, 300.0)
    liveness.server_responded(NO_EVENT - 1.0)
    assert liveness.step(NO_EVENT - 1.0) == KeepWaiting(1.0)
    assert isinstance(liveness.step(NO_EVENT), GiveUp)


def test_time_in_which_the_reader_did_not_wait_does_not_count() -> None:
    """A slow reader is not the server's fault."""
    liveness = WatchLiveness(0.0, 300.0)
    liveness.begin_waiting(200.0)
    assert isinstance(liveness.step(200.0), KeepWaiting)


@pytest.mark.parametrize(("lasts", "is_dead"), [(300.0, True), (None, False)])
def test_a_watch_ends_after_its_timeout(lasts: float | None, *, is_dead: bool) -> None:
    """Also if events arrive all the time; a watch without a timeout does not end."""
    liveness = WatchLiveness(0.0, lasts)
    end = 300.0 + OVERDUE
    liveness.begin_waiting(end - 1.0)
    assert isinstance(liveness.step(end - 1.0), KeepWaiting)
    liveness.begin_waiting(end)
    assert isinstance(liveness.step(end), GiveUp) is is_dead


def test_a_dead_server_is_detected_within_half_a_minute() -> None:
    """The silence before the ping plus the time to answer; client-go needs about 45 s."""
    assert QUIET + Limits().ping <= 30.0


def test_a_quiet_watch_is_dead_when_an_event_is_missing() -> None:
    """The writer knows that an event is due, long before a bookmark is."""
    liveness = WatchLiveness(0.0, 300.0)
    liveness.begin_waiting(10.0)
    assert liveness.doubt(10.0 + DOUBTED)
    assert liveness.step(10.0 + DOUBTED) == GiveUp("the watch brought no event for 3.0 s, and one is missing")


def test_a_watch_that_brings_events_is_not_dead_although_one_is_missing() -> None:
    """It is behind, and the next event ends the doubt."""
    liveness = WatchLiveness(0.0, 300.0)
    liveness.begin_waiting(10.0)
    assert not liveness.doubt(11.0)
    assert liveness.step(11.0) == KeepWaiting(QUIET - 1.0)
    assert liveness.doubt(14.0)
    liveness.begin_waiting(14.0)
    assert liveness.step(14.0) == KeepWaiting(QUIET)
