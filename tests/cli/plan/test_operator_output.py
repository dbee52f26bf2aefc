"""What a planned operator prints does not disturb the plan, and has no secrets."""

import logging
import sys

import pytest

from steersman.cli.plan.operator_output import operator_output


def mask(text: str) -> str:
    """Mask one password."""
    return text.replace("hunter2", "<hash>")


@pytest.mark.parametrize("verbose", [False, True])
def test_prints_go_to_standard_error_without_secrets(capsys: pytest.CaptureFixture[str], *, verbose: bool) -> None:
    """Programs read standard output; the log with its tracebacks is shown only on request."""
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    with operator_output(mask, verbose=verbose):
        print("with hunter2")  # noqa: T201 - what authors do
        logging.getLogger("steersman.controller").info("connecting with %s", "hunter2")
        error = RuntimeError("no login with hunter2")
        logging.getLogger("steersman.controller").error("it fails", exc_info=error)
    print("the plan")  # noqa: T201 - what follows
    shown = capsys.readouterr()
    assert shown.out == "the plan\n"
    assert "hunter2" not in shown.err
    assert "with <hash>\n" in shown.err
    assert ("connecting with <hash>" in shown.err) is verbose
    assert ("RuntimeError: no login with <hash>" in shown.err) is verbose
    assert (list(root.handlers), root.level) == before


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", ["", "shop"])
def test_handlers_that_a_module_has_set_up_are_masked(
    capsys: pytest.CaptureFixture[str], name: str, *, verbose: bool
) -> None:
    """`logging.basicConfig` at import holds the stream of the process, before anything is planned."""
    logger, handler = logging.getLogger(name), logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    try:
        with operator_output(mask, verbose=verbose):
            logging.getLogger("shop").warning("connecting with %s", "hunter2")
        logging.getLogger("shop").warning("later")
    finally:
        logger.removeHandler(handler)
    shown = capsys.readouterr().err
    assert "connecting with <hash>" in shown
    assert "hunter2" not in shown
    assert shown.endswith("later\n")
