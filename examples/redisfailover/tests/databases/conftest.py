"""Tests with real Redis processes, by ``make test-databases``: without STEERSMAN_DATABASES they are left out."""

import os

import pytest

if os.environ.get("STEERSMAN_DATABASES"):
    from redis_world.binaries import NoRedis, redis_programs
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _redis_is_there() -> None:
    """Say in one line why nothing is tested."""
    try:
        redis_programs()
    except NoRedis as missing:
        pytest.skip(str(missing))
