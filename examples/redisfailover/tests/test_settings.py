"""Lines of ``customConfig``."""

import pytest

from redisfailover.settings import (
    is_equal,
    parse_settings,
    redis_conf,
    reserved_in,
    sentinel_options,
    split_write_quorum,
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["maxmemory 100mb"], {"maxmemory": "100mb"}),
        (["save 900 1", "save 300 10"], {"save": "900 1 300 10"}),
        (['save ""'], {"save": ""}),
        (["  MaxMemory   1gb ", "", "# words"], {"maxmemory": "1gb"}),
        (["appendonly"], {"appendonly": ""}),
    ],
)
def test_lines_become_settings(lines: list[str], expected: dict[str, str]) -> None:
    """The parsed values are compared with those that a running server shows."""
    assert parse_settings(lines) == expected


@pytest.mark.parametrize(
    ("wanted", "shown", "expected"),
    [
        ("100mb", "104857600", True),
        ("1k", "1000", True),
        ("1GB", "1073741824", True),
        ("normal 0 0 0 slave 1gb 1gb 0", "normal 0 0 0 slave 1073741824 1073741824 0", True),
        ("60 5", "60  5", True),
        ("100mb", "100000000", False),
        ("allkeys-lru", "noeviction", False),
        ("b", "1", False),
    ],
)
def test_sizes_are_compared_in_bytes(wanted: str, shown: str, *, expected: bool) -> None:
    """Otherwise an operator that has just started would set them again, with an event."""
    assert is_equal(wanted, shown) is expected


def test_lines_of_the_user_replace_the_defaults_of_the_same_name() -> None:
    """Redis would combine all lines of ``save``."""
    assert redis_conf(["save 60 5"]) == "tcp-keepalive 60\nsave 60 5\n"


def test_settings_of_the_operator_are_reserved() -> None:
    """A server that follows another one by its settings could not become master."""
    assert reserved_in(["maxmemory 1gb", "slaveof 10.0.0.1 6379", "Port 7000"]) == ["port", "slaveof"]


def test_options_of_the_user_replace_the_defaults_of_sentinels() -> None:
    """All other options keep their defaults."""
    options = sentinel_options(["down-after-milliseconds 1000"])
    assert options == {"down-after-milliseconds": "1000", "failover-timeout": "10000", "parallel-syncs": "2"}


def test_the_write_quorum_is_separated_from_other_settings() -> None:
    """The operator raises it during a hand-over; compared as a setting it would be reset in the middle of it."""
    assert split_write_quorum({"hz": "20", "min-replicas-to-write": "1"}) == ({"hz": "20"}, 1)
    assert split_write_quorum({"min-slaves-to-write": "2"}) == ({}, 2)
    assert split_write_quorum({"min-replicas-to-write": "many"}) == ({"min-replicas-to-write": "many"}, 0)
    assert split_write_quorum({}) == ({}, 0)
