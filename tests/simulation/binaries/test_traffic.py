"""When an operator in another process is taken to be at rest."""

from steersman.simulation.binaries.traffic import Traffic


def test_there_is_rest_when_nothing_happened_for_long_enough() -> None:
    """Rest is the absence of traffic for some seconds."""
    traffic = Traffic(quiet=3.0)
    traffic.change(10.0, "MODIFIED pods default/a")
    assert traffic.seconds_left(11.0) == 2.0
    assert traffic.seconds_left(13.0) == 0.0


def test_a_process_that_starts_is_not_at_rest() -> None:
    """A slow start must not be mistaken for an operator with nothing to do, however long it takes."""
    traffic = Traffic(quiet=3.0)
    traffic.expect(0.0)
    traffic.change(5.0, "MODIFIED pods default/a")
    assert traffic.seconds_left(100.0) == 3.0
    traffic.note(101.0, "WATCH /api/v1/pods")
    assert traffic.seconds_left(104.0) == 0.0


def test_a_request_without_an_answer_is_not_rest() -> None:
    """A slow answer may be followed by more work; a process that is gone waits for none."""
    traffic = Traffic(quiet=3.0)
    traffic.begin(0.0, "GET /api/v1/pods")
    assert traffic.seconds_left(60.0) == 3.0
    traffic.end(61.0)
    assert traffic.seconds_left(62.0) == 2.0
    traffic.begin(70.0, "GET /api/v1/pods")
    traffic.forget_requests()
    assert traffic.seconds_left(73.0) == 0.0


def test_the_busiest_requests_are_named() -> None:
    """A user who waits without success needs to know for what."""
    traffic = Traffic(quiet=3.0)
    for second in range(5):
        traffic.note(float(second), "GET /api/v1/pods")
    traffic.note(4.0, "GET /api/v1/nodes")
    assert traffic.busiest(5.0) == "GET /api/v1/pods (5 times), GET /api/v1/nodes (1 times)"
    assert Traffic(quiet=1.0).busiest(0.0) == "nothing"
