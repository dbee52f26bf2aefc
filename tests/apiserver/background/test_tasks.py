import logging

import pytest

from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.status import Refusal


def test_a_task_added_while_it_waits_runs_once() -> None:
    """Ten writes to one object need one look at it."""
    tasks, done = BackgroundTasks(), []
    for _ in range(3):
        tasks.add("a", lambda: done.append("a"))
    tasks.run()
    assert done == ["a"]


def test_a_task_added_while_it_runs_runs_again() -> None:
    """The state that the task read may have changed since."""
    tasks, done = BackgroundTasks(), []

    def once_more() -> None:
        done.append("a")
        if len(done) == 1:
            tasks.add("a", once_more)

    tasks.add("a", once_more)
    tasks.run()
    assert done == ["a", "a"]


def test_a_failing_task_does_not_stop_others(caplog: pytest.LogCaptureFixture) -> None:
    """One object that cannot be written must not stop the cleanup of a cluster."""
    tasks, done = BackgroundTasks(), []

    def rejected() -> None:
        raise Refusal(422, "Invalid", "no")

    def broken() -> None:
        raise KeyError("bug")

    tasks.add("rejected", rejected)
    tasks.add("broken", broken)
    tasks.add("good", lambda: done.append("good"))
    with caplog.at_level(logging.WARNING, "steersman.apiserver"):
        tasks.run()
    assert done == ["good"]
    assert [record.message for record in caplog.records] == [
        "a background task was rejected",
        "a background task failed",
    ]
