"""Tests with real Redis processes; they are collected only with STEERSMAN_DATABASES=1 (``make test-databases``)."""

import os

import pytest

if os.environ.get("STEERSMAN_DATABASES"):
    from redis_testbed.binaries import RedisNotFound, redis_programs
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _require_redis() -> None:
    """Skip the test, with the reason, if there is no Redis."""
    try:
        redis_programs()
    except RedisNotFound as missing:
        pytest.skip(str(missing))
