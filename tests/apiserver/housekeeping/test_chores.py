import logging

import pytest

from steersman.apiserver.background.chores import Chores
from steersman.apiserver.status import Refusal


def test_a_chore_that_comes_up_while_it_waits_is_done_once() -> None:
    """Ten writes to one object are one thing to look at."""
    chores, done = Chores(), []
    for _ in range(3):
        chores.add("a", lambda: done.append("a"))
    chores.run()
    assert done == ["a"]


def test_a_chore_that_comes_up_while_it_is_done_is_done_again() -> None:
    """What it looked at has changed since."""
    chores, done = Chores(), []

    def once_more() -> None:
        done.append("a")
        if len(done) == 1:
            chores.add("a", once_more)

    chores.add("a", once_more)
    chores.run()
    assert done == ["a", "a"]


def test_a_chore_that_fails_does_not_keep_others_from_being_done(caplog: pytest.LogCaptureFixture) -> None:
    """One object that cannot be written must not stop the cleaning of a cluster."""
    chores, done = Chores(), []

    def refused() -> None:
        raise Refusal(422, "Invalid", "no")

    def broken() -> None:
        raise KeyError("bug")

    chores.add("refused", refused)
    chores.add("broken", broken)
    chores.add("good", lambda: done.append("good"))
    with caplog.at_level(logging.WARNING, "steersman.apiserver"):
        chores.run()
    assert done == ["good"]
    assert [record.message for record in caplog.records] == ["a chore was refused", "a chore failed"]
