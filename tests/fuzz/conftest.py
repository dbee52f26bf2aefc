"""A server that gets invalid input; ``STEERSMAN_FUZZ=20`` sends twenty times as much as the default."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

#: Factor for the default number of examples.
AMOUNT = int(os.environ.get("STEERSMAN_FUZZ", "1"))


def amount(examples: int) -> settings:
    """Return settings for that many examples, times the factor."""
    return settings(
        max_examples=examples * AMOUNT,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.fixture(autouse=True)
def no_bugs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which the server logged an internal error."""
    caplog.set_level(logging.WARNING)
    yield
    bugs = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not bugs, "\n".join(f"{record.getMessage()}: {record.exc_text or record.exc_info}" for record in bugs)
