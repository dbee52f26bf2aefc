import logging

import pytest

from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.status import Refusal


def test_a_chore_that_comes_up_while_it_waits_is_done_once() -> None:
    """Ten writes to one object are one thing to look at."""
    tasks, done = BackgroundTasks(), []
    for _ in range(3):
        tasks.add("a", lambda: done.append("a"))
    tasks.run()
    assert done == ["a"]


def test_a_chore_that_comes_up_while_it_is_done_is_done_again() -> None:
    """What it looked at has changed since."""
    tasks, done = BackgroundTasks(), []

    def once_more() -> None:
        done.append("a")
        if len(done) == 1:
            tasks.add("a", once_more)

    tasks.add("a", once_more)
    tasks.run()
    assert done == ["a", "a"]


def test_a_chore_that_fails_does_not_keep_others_from_being_done(caplog: pytest.LogCaptureFixture) -> None:
    """One object that cannot be written must not stop the cleaning of a cluster."""
    tasks, done = BackgroundTasks(), []

    def refused() -> None:
        raise Refusal(422, "Invalid", "no")

    def broken() -> None:
        raise KeyError("bug")

    tasks.add("refused", refused)
    tasks.add("broken", broken)
    tasks.add("good", lambda: done.append("good"))
    with caplog.at_level(logging.WARNING, "steersman.apiserver"):
        tasks.run()
    assert done == ["good"]
    assert [record.message for record in caplog.records] == [
        "a background task was rejected",
        "a background task failed",
    ]
