"""A server that is shown nonsense, and how much of it: modest by default, ``STEERSMAN_FUZZ=20`` for twenty times."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

#: How many times the default amount of nonsense.
AMOUNT = int(os.environ.get("STEERSMAN_FUZZ", "1"))


def amount(examples: int) -> settings:
    """Give settings for so many examples, times what was asked for."""
    return settings(
        max_examples=examples * AMOUNT,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.fixture(autouse=True)
def no_bugs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which the server met a bug of its own: it says so in its log."""
    caplog.set_level(logging.WARNING)
    yield
    bugs = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not bugs, "\n".join(f"{record.getMessage()}: {record.exc_text or record.exc_info}" for record in bugs)
