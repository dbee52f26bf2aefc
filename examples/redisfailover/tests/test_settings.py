"""Lines of settings, as people write them."""

import pytest

from redisfailover.settings import (
    is_same,
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
    """What is compared with a running server must be what that server understood."""
    assert parse_settings(lines) == expected


@pytest.mark.parametrize(
    ("wanted", "told", "expected"),
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
def test_sizes_are_compared_as_redis_tells_them(wanted: str, told: str, *, expected: bool) -> None:
    """Otherwise an operator that has just started sets them again, and says so to everybody."""
    assert is_same(wanted, told) is expected


def test_lines_of_the_user_replace_the_defaults_of_the_same_name() -> None:
    """Redis would add up the lines of ``save``."""
    assert redis_conf(["save 60 5"]) == "tcp-keepalive 60\nsave 60 5\n"


def test_what_the_operator_decides_cannot_be_set() -> None:
    """A server that follows somebody by its settings would not be master when it is to be."""
    assert reserved_in(["maxmemory 1gb", "slaveof 10.0.0.1 6379", "Port 7000"]) == ["port", "slaveof"]


def test_sentinels_judge_by_what_their_user_says() -> None:
    """Defaults fill the rest."""
    options = sentinel_options(["down-after-milliseconds 1000"])
    assert options == {"down-after-milliseconds": "1000", "failover-timeout": "10000", "parallel-syncs": "2"}


def test_the_number_of_replicas_that_a_write_needs_is_no_setting_like_others() -> None:
    """The operator raises it for a while: compared as a setting it would be set back in the middle of a hand-over."""
    assert split_write_quorum({"hz": "20", "min-replicas-to-write": "1"}) == ({"hz": "20"}, 1)
    assert split_write_quorum({"min-slaves-to-write": "2"}) == ({}, 2)
    assert split_write_quorum({"min-replicas-to-write": "many"}) == ({"min-replicas-to-write": "many"}, 0)
    assert split_write_quorum({}) == ({}, 0)
