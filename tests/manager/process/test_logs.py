"""Log lines: their times, the first line, folded tracebacks, warnings, and values that cannot be formatted."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.manager.leader.election import ElectionOptions
from steersman.manager.main import start_fields
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.manager.process.logs import JsonFormatter, TextFormatter
from steersman.manager.process.traceback_folding import TracebackFolder, fingerprint
from steersman.transport.auth.credentials import Impersonation
from steersman.transport.auth.secret import Secret
from steersman.transport.config import ClusterConfig, Login
from steersman.version import __version__

AT = 1_760_000_000.25


class Unprintable(Exception):  # noqa: N818 - it is what the name says
    """An exception whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def caught(function: Callable[[], object]) -> BaseException:
    """Return the exception that a function raises."""
    try:
        function()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


def no_disk(name: str = "a") -> None:
    """Raise an error whose message names the object."""
    raise ValueError(f"no disk for {name}")


def no_network() -> None:
    """Raise an error from another line."""
    raise ValueError("no network")


def record(
    message: str = "reconcile failed", *, at: float = AT, error: Any = None, **fields: object
) -> logging.LogRecord:
    """Return a record of that time."""
    info = (type(error), error, error.__traceback__) if error is not None else None
    made = logging.LogRecord("steersman.test", logging.ERROR, __file__, 1, message, (), info)
    made.created = at
    made.__dict__.update(fields)
    return made


def test_times_have_a_date_and_an_offset() -> None:
    """Lines of several pods, nodes and years must sort; a time of day alone is not enough."""
    written = [TextFormatter().format(record()).split()[0], json.loads(JsonFormatter().format(record()))["time"]]
    for text in written:
        parsed = datetime.fromisoformat(text)
        assert parsed.utcoffset() is not None
        assert parsed.timestamp() == AT


def test_a_repeated_traceback_is_folded_into_one_line() -> None:
    """A thousand objects that fail alike would hide the one that fails differently."""
    formatter = TextFormatter()
    first = formatter.format(record(error=caught(lambda: no_disk("a"))))
    lines = [formatter.format(record(at=AT + n, error=caught(lambda: no_disk("b")), key="b")) for n in range(3)]
    # Each lambda is another location, so the first traceback of the second one is written in full, too.
    assert "Traceback" in first
    assert "Traceback" in lines[0]
    assert "Traceback" not in lines[1] + lines[2]
    folded = lines[2].splitlines()
    assert len(folded) == 2
    assert "key=b" in folded[0]
    assert folded[1].startswith("ValueError: no disk for b (same traceback as at 20")
    assert folded[1].endswith(", 2 times since)")


def test_json_has_the_count_and_the_time_of_the_full_traceback_as_fields() -> None:
    """A program finds the full traceback by these fields."""
    formatter = JsonFormatter()
    first, second = (json.loads(formatter.format(record(at=AT + n, error=caught(no_network)))) for n in range(2))
    assert "Traceback" in first["exception"]
    assert "repeats" not in first
    assert second["exception"] == "ValueError: no network"
    assert (second["same_traceback_at"], second["repeats"]) == (first["time"], 1)


def test_other_tracebacks_are_not_folded() -> None:
    """The same type in another line of code, or with another cause, is another problem."""

    def wrapped() -> None:
        try:
            no_disk()
        except ValueError as error:
            raise KeyError("a") from error

    def unwrapped() -> None:
        try:
            no_network()
        except ValueError as error:
            raise KeyError("a") from error

    formatter = TextFormatter()
    for failing in (no_disk, no_network, wrapped, unwrapped):
        assert "Traceback" in formatter.format(record(error=caught(failing)))
    assert fingerprint(ExceptionGroup("x", [ValueError("a")])) != fingerprint(ExceptionGroup("x", [KeyError("a")]))


def test_a_traceback_is_written_in_full_again_after_a_while() -> None:
    """The first one may be in a rotated file by then."""
    folder = TracebackFolder(full_every=600)
    assert folder.fold(1, 0.0) is None
    assert folder.fold(1, 599.0) is not None
    assert folder.fold(1, 600.0) is None
    again = folder.fold(1, 601.0)
    assert again is not None
    assert (again.full_at, again.count) == (600.0, 1)


def test_a_clock_that_is_set_back_does_not_fold_for_hours() -> None:
    """Records have the time of the wall clock."""
    folder = TracebackFolder(full_every=600)
    folder.fold(1, 10_000.0)
    assert folder.fold(1, 0.0) is None


@given(keys=st.lists(st.integers(0, 50), max_size=200), limit=st.integers(1, 10))
def test_the_number_of_remembered_tracebacks_is_bounded(keys: list[int], limit: int) -> None:
    """A program that generates code at run time would need more and more memory."""
    folder = TracebackFolder(limit=limit)
    for number, key in enumerate(keys):
        is_first = key not in folder._known
        assert (folder.fold(key, float(number)) is None) == is_first
        assert len(folder._known) <= limit


def test_causes_in_a_cycle_do_not_hang() -> None:
    """Python itself guards against them when it prints."""
    one, other = ValueError("a"), KeyError("b")
    one.__cause__, other.__cause__ = other, one
    assert fingerprint(one) == fingerprint(one)


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_an_exception_without_a_text_is_logged(formatter: logging.Formatter) -> None:
    """An author's exception must not lose the line that reports it."""

    def fail() -> None:
        raise Unprintable

    error = caught(fail)
    unformattable = logging.LogRecord("a", logging.ERROR, "f", 1, "it was %s", (error,), None)
    mismatched = logging.LogRecord("a", logging.ERROR, "f", 1, "%d of %d", ("one",), None)
    texts = [
        formatter.format(record(error=error, problem=error, problems=[error, "\ud800"])),
        formatter.format(unformattable),
        formatter.format(mismatched),
    ]
    assert "Unprintable" in texts[0]
    assert "it was %s" in texts[1]
    assert "%d of %d" in texts[2]
    for text in texts:
        text.encode(errors="backslashreplace")


PROGRAM = """
import logging, warnings
from steersman.manager.process.logs import configure_logging
configure_logging(json=True)
warnings.warn("the old way", FutureWarning, stacklevel=1)
"""


def test_warnings_of_python_are_json_if_the_log_is_json() -> None:
    """A line that is not JSON breaks programs that read the log."""
    answer = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    [line] = map(json.loads, answer.stderr.splitlines())
    assert (line["level"], line["message"], line["category"]) == ("warning", "the old way", "FutureWarning")
    assert line["place"] == "<string>:5"


def test_the_first_line_names_version_cluster_namespaces_and_identity() -> None:
    """The first line of a log must name the program and the cluster."""
    config = ClusterConfig(server="https://10.0.0.1:6443", context="production")
    election = ElectionOptions(name="a", namespace="b", identity="pod-1_42")
    fields = start_fields([Operator("shop")], config, ManagerOptions(namespaces=("red", "blue"), election=election))
    assert fields == {
        "steersman": __version__,
        "operators": ["shop"],
        "server": "https://10.0.0.1:6443",
        "context": "production",
        "namespaces": ["red", "blue"],
        "identity": "pod-1_42",
    }


def test_the_first_line_names_the_user_but_no_password() -> None:
    """Permissions depend on the user that the cluster sees."""
    login = Login("ann", Secret("canary"))
    config = ClusterConfig(server="https://10.0.0.1:6443", authentication=login)
    fields = start_fields([], config, ManagerOptions(instance="laptop"))
    assert (fields["user"], fields["identity"], fields["namespaces"]) == ("ann", "laptop", "all")
    assert "canary" not in str(fields)
    other = ClusterConfig(server="https://10.0.0.1:6443", authentication=login, impersonation=Impersonation(user="eve"))
    assert start_fields([], other, ManagerOptions())["user"] == "eve"
