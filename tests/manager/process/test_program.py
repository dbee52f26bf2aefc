"""Parts of a program around the manager: log lines, the watchdog, `steer run` as a process."""

import asyncio
import io
import json
import logging
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from steersman.cli import main
from steersman.clock import RealClock
from steersman.manager.process.logs import JsonFormatter, TextFormatter
from steersman.manager.process.watchdog import watch_event_loop


def line(formatter: logging.Formatter, **fields: object) -> str:
    """Format one log line."""
    stream = io.StringIO()
    logger = logging.getLogger("steersman.test")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger.addHandler(handler)
    try:
        logger.warning("reconcile failed", exc_info=fields.pop("error", None), extra=fields)
    finally:
        logger.removeHandler(handler)
    return stream.getvalue()


def test_text_lines_are_readable() -> None:
    """The message first, then the fields."""
    assert line(TextFormatter(), key="ns/a", why=["a", "b"]).endswith("reconcile failed key=ns/a why='[a, b]'\n")


def test_json_lines_are_parsable() -> None:
    """One document per line, with the fields beside the message and the traceback inside."""
    written = json.loads(line(JsonFormatter(), key="ns/a", reconcile=7, error=ValueError("no such disk")))
    assert (written["level"], written["message"]) == ("warning", "reconcile failed")
    assert (written["key"], written["reconcile"]) == ("ns/a", 7)
    assert "no such disk" in written["exception"]


async def test_the_watchdog_names_the_call_that_blocks_the_event_loop() -> None:
    """A blocking call in an async function is the most common mistake."""
    stalls: list[str] = []

    def blocking_call() -> None:
        end = time.monotonic() + 0.9
        while time.monotonic() < end:
            pass

    # Long enough that a loaded machine does not pause this thread for the limit before the call.
    async with watch_event_loop(RealClock(), limit=0.25, on_stall=lambda _, place: stalls.append(place)):
        blocking_call()
    assert len(stalls) == 1
    assert stalls[0].startswith("blocking_call (")


OPERATOR = textwrap.dedent(
    '''
    from steersman import Context, Model, Operator, Resource, Status, custom_resource

    class ThingSpec(Model):
        size: int = 0

    class ThingStatus(Status):
        size: int = 0

    @custom_resource("program.example.com/v1")
    class Thing(Resource[ThingSpec, ThingStatus]):
        """Something with a size."""

    operator = Operator("thing")

    @operator.reconciler(Thing)
    async def reconcile(thing: Thing, ctx: Context[Thing]) -> None:
        thing.status.size = thing.spec.size
    '''
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_steer_run_ends_with_code_0_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """An orchestrator must not take a stop for a crash."""
    (tmp_path / "thing.py").write_text(OPERATOR)
    arguments = ["-m", "steersman.cli", "run", "thing:operator", "--embedded", "--leader-elect"]
    seen: list[str] = []
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - ourselves
        assert process.stderr is not None
        for text in process.stderr:
            seen.append(text)
            if '"running"' in text:
                process.send_signal(number)
        assert process.wait(timeout=30) == 0, seen
    lines = [json.loads(text) for text in seen if text.startswith("{")]
    messages = [line["message"] for line in lines]
    assert messages[0] == "starting"
    assert {"steersman", "operators", "server", "context", "namespaces", "identity"} <= lines[0].keys()
    assert messages[-3:] == ["stopping: a second signal ends it at once", "released leadership", "stopped"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("thing", "MODULE:OPERATOR"),
        ("no_such_module:operator", "cannot import"),
        ("steersman.errors:nothing", "the module steersman.errors has no 'nothing'"),
        ("steersman.errors:Retry", "not an Operator"),
    ],
)
def test_a_wrong_target_is_one_line(target: str, words: str) -> None:
    """A typo on the command line gets no traceback."""
    result = CliRunner().invoke(main, ["run", target])
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_the_event_loop_is_unchanged_afterwards() -> None:
    """The watchdog leaves no thread behind."""

    async def scenario() -> None:
        async with watch_event_loop(RealClock()):
            pass

    asyncio.run(scenario())
