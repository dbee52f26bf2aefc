from steersman.apiserver.webhook_calls.replay import ReplayLog
from steersman.randomness import Randomness


def test_every_run_of_a_request_gets_the_same_random_values() -> None:
    """A webhook admits an object with a uid and ports: the run after its reply must propose the same ones."""
    log = ReplayLog(Randomness(1))
    first = log.randomness()
    made = [first.uid(), first.suffix(), first.between(0, 100), first.jitter(1.0, 2.0), first.uid()]
    second = log.randomness()
    assert [second.uid(), second.suffix(), second.between(0, 100), second.jitter(1.0, 2.0), second.uid()] == made


def test_a_run_that_goes_further_extends_the_log() -> None:
    """The second run may need another generated name, since the first one was taken meanwhile."""
    log = ReplayLog(Randomness(1))
    name = log.randomness().suffix()
    second = log.randomness()
    assert second.suffix() == name
    other = second.suffix()
    assert other != name
    third = log.randomness()
    assert [third.suffix(), third.suffix()] == [name, other]


def test_requests_do_not_share_their_random_values() -> None:
    """Two requests may wait for webhooks at the same time."""
    source = Randomness(1)
    assert ReplayLog(source).randomness().uid() != ReplayLog(source).randomness().uid()
