"""When an operator in another process counts as idle."""

from steersman.simulation.binaries.traffic import Traffic


def idle(traffic: Traffic, seconds: int) -> float:
    """Advance by idle seconds; return how many are left until there is rest."""
    for _ in range(seconds):
        traffic.look(1.0, is_running=False)
    return traffic.seconds_left()


def test_there_is_rest_when_nothing_happened_for_long_enough() -> None:
    """Rest is the absence of traffic for some seconds."""
    traffic = Traffic(quiet=3.0)
    traffic.change(10.0, "MODIFIED pods default/a")
    assert idle(traffic, 1) == 2.0
    traffic.change(11.0, "MODIFIED pods default/a")
    assert idle(traffic, 1) == 2.0
    assert idle(traffic, 2) == 0.0


def test_a_program_that_waits_for_a_processor_is_not_at_rest() -> None:
    """On a busy machine a program may be silent because it cannot run; its silence says nothing then."""
    traffic = Traffic(quiet=3.0)
    for _ in range(60):
        traffic.look(1.0, is_running=True)
    assert traffic.seconds_left() == 3.0
    assert idle(traffic, 3) == 0.0


def test_a_process_that_starts_is_not_at_rest() -> None:
    """A slow start must not be mistaken for an operator with nothing to do, however long it takes."""
    traffic = Traffic(quiet=3.0)
    traffic.expect()
    traffic.change(5.0, "MODIFIED pods default/a")
    assert idle(traffic, 100) == 3.0
    traffic.note(101.0, "WATCH /api/v1/pods")
    assert idle(traffic, 3) == 0.0


def test_a_request_without_an_answer_is_not_rest() -> None:
    """A slow answer may be followed by more work; a process that has ended waits for none."""
    traffic = Traffic(quiet=3.0)
    traffic.begin(0.0, "GET /api/v1/pods")
    assert idle(traffic, 60) == 3.0
    traffic.end()
    assert idle(traffic, 1) == 2.0
    traffic.begin(70.0, "GET /api/v1/pods")
    traffic.forget_requests()
    assert idle(traffic, 3) == 0.0


def test_the_busiest_requests_are_named() -> None:
    """A user who waits without success needs to know for what."""
    traffic = Traffic(quiet=3.0)
    for second in range(5):
        traffic.note(float(second), "GET /api/v1/pods")
    traffic.note(4.0, "GET /api/v1/nodes")
    assert traffic.busiest(5.0) == "GET /api/v1/pods (5 times), GET /api/v1/nodes (1 times)"
    assert Traffic(quiet=1.0).busiest(0.0) == "nothing"
