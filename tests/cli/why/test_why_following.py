"""`steer why --follow`: what is printed when the operator restarts and when the object is deleted."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from steersman.cli.why.following import Following
from steersman.history.records import LeadershipChange, ObjectName, ObjectView, Reconcile, WebhookCall
from tests.cli.why.test_why_command import run, serving
from tests.support.introspection import STARTED, SampleIntrospection

NAME = ObjectName("Site", "default", "a")


def view(*reconciles: Reconcile, exists: bool = True) -> ObjectView:
    """Return a view of a Site."""
    return ObjectView(object=NAME, exists=exists, reconciles=reconciles)


def test_only_what_is_new_is_printed() -> None:
    """A screen that repeats itself twice a second cannot be read."""
    following = Following()
    assert following.take(view(run("a", 1)), STARTED)
    assert following.take(view(run("a", 1)), STARTED) == []
    newer = following.take(view(run("a", 1), run("a", 2)), STARTED)
    assert [line for line in newer if "reconcile" in line and "because" in line] == [newer[-2]]
    assert "reconcile 2" in newer[-2]


def test_reviews_and_changes_of_leadership_are_printed_once() -> None:
    """A run is known when it has ended: it is printed although a review that began later was printed before."""
    following = Following()
    later = STARTED + timedelta(seconds=60)
    review = WebhookCall(webhook="/validate", started=later, seconds=0.001, status=200, is_allowed=True)
    change = LeadershipChange(at=STARTED, is_leader=True, lease="a/b")
    first = replace(view(run("a", 1)), reviews=(review,), leadership=(change,))
    assert [line.partition("  ")[2] for line in following.take(first, STARTED) if line[:2].isdigit()] == [
        "the operator began to lead (a/b)",
        "reconcile 1, 2.0 ms, because its timer ended",
        "review by /validate, 1.0 ms: allowed",
    ]
    assert following.take(first, STARTED) == []
    again = replace(review, started=later + timedelta(seconds=1))
    [line] = following.take(replace(first, reviews=(review, again)), STARTED)
    assert "review by /validate" in line
    lines = following.take(replace(first, reconciles=(run("a", 1), run("a", 2))), STARTED)
    assert [line for line in lines if "review" in line] == []
    assert "reconcile 2" in lines[-2]


def test_the_runs_of_a_restarted_operator_are_new_though_they_are_counted_from_one() -> None:
    """`steer dev` restarts the operator at every save, and its count of runs begins again."""
    following = Following()
    following.take(view(run("a", 7)), STARTED)
    assert following.lost("the operator at process 7 does not answer") == [
        "the operator at process 7 does not answer; waiting for it"
    ]
    assert following.lost("the operator at process 7 does not answer") == []
    later = run("a", 1, started=STARTED + timedelta(seconds=60))
    lines = following.take(view(later), STARTED)
    assert lines[0] == "The operator answers again."
    assert any("reconcile 1" in line for line in lines)


def test_a_deletion_and_a_new_object_of_the_same_name_are_printed() -> None:
    """Silence would mean that nothing happened."""
    following = Following()
    following.take(view(run("a", 1)), STARTED)
    gone = following.take(view(run("a", 1), exists=False), STARTED)
    assert gone == ["Site default/a does not exist any more, or the operator does not watch it."]
    assert following.take(view(run("a", 1), exists=False), STARTED) == []
    assert following.take(view(), STARTED) == [
        "Site default/a has not been reconciled yet.",
        "Next run: when it or an object that it owns changes.",
    ]


@asynccontextmanager
async def following_process(runtime: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `steer why --follow` until the end of the block, and end it as Ctrl-C does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "steersman.cli", "why", "site/a", "--follow"),
        env={"XDG_RUNTIME_DIR": str(runtime), "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


async def lines_until(process: asyncio.subprocess.Process, text: str) -> list[str]:
    """Read lines until one contains a text."""
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(30):
        while not lines or text not in lines[-1]:
            line = await process.stdout.readline()
            assert line, lines
            lines.append(line.decode().rstrip("\n"))
    return lines


@pytest.fixture(autouse=True)
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the search to operators of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


async def test_a_restart_of_the_operator_does_not_end_it(tmp_path: Path) -> None:
    """`steer dev` restarts the operator at every save, when its author is watching."""
    source = SampleIntrospection()
    source.add(run("a"))
    async with following_process_of(source, tmp_path) as process:
        waiting = await lines_until(process, "waiting for it")
        assert "Traceback" not in "\n".join(waiting)
        restarted = SampleIntrospection()
        restarted.add(run("a", started=STARTED + timedelta(hours=1)))
        async with serving(restarted):
            assert "The operator answers again." in await lines_until(process, "reconcile 1")


@asynccontextmanager
async def following_process_of(source: SampleIntrospection, runtime: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Follow an operator that has stopped when the block begins."""
    async with serving(source):
        following = following_process(runtime)
        process = await following.__aenter__()
        await lines_until(process, "reconcile 1")
    try:
        yield process
    finally:
        await following.__aexit__(None, None, None)
