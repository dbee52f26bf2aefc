"""Options are validated at construction, with the rules that a real server was seen to enforce."""

from datetime import UTC, datetime
from typing import Any

import pytest

from steersman.errors import SelectorError
from steersman.protocol.options import (
    ApplyOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    LogOptions,
    WatchOptions,
    WriteOptions,
)


@pytest.mark.parametrize(
    ("kind", "values", "why"),
    [
        (ListOptions, {"resource_version_match": "Exact"}, "needs a resource_version"),
        (ListOptions, {"resource_version": "0", "resource_version_match": "Exact"}, "no exact match"),
        (ListOptions, {"resource_version": "5", "continue_": "t"}, "carries its own resource version"),
        (
            ListOptions,
            {"resource_version": "0", "resource_version_match": "NotOlderThan", "continue_": "t"},
            "cannot go with a continue token",
        ),
        (ListOptions, {"limit": -1}, "limit must not be negative"),
        (ListOptions, {"timeout_seconds": -1}, "timeout_seconds must not be negative"),
        (WatchOptions, {"send_initial_events": True, "allow_bookmarks": False}, "needs bookmarks"),
        (WatchOptions, {"timeout_seconds": -5}, "timeout_seconds must not be negative"),
        (WriteOptions, {"field_manager": "x" * 129}, "at most 128 printable characters"),
        (WriteOptions, {"field_manager": "a\nb"}, "at most 128 printable characters"),
        (WriteOptions, {"field_validation": "Maybe"}, "Ignore, Warn or Strict"),
        (ApplyOptions, {"field_manager": ""}, "needs a field manager"),
        (DeleteOptions, {"propagation_policy": "Slowly"}, "Orphan, Background or Foreground"),
        (DeleteOptions, {"grace_period_seconds": -1}, "must not be negative"),
        (LogOptions, {"since_seconds": 5, "since_time": datetime(2026, 1, 1, tzinfo=UTC)}, "exclude each other"),
        (LogOptions, {"tail_lines": -1}, "tail_lines must be at least 0"),
        (LogOptions, {"since_seconds": 0}, "since_seconds must be at least 1"),
    ],
)
def test_options_that_the_server_would_reject_cannot_be_created(
    kind: type[Any], values: dict[str, Any], why: str
) -> None:
    """The mistake is reported where it is made, without a server."""
    with pytest.raises(ValueError, match=why):
        kind(**values)


@pytest.mark.parametrize("kind", [ListOptions, WatchOptions])
def test_selectors_must_parse(kind: type[Any]) -> None:
    """A selector that matches everything by mistake may delete everything."""
    with pytest.raises(SelectorError):
        kind(label_selector="a in b")
    with pytest.raises(SelectorError):
        kind(field_selector="spec")


def test_unset_options_are_not_sent() -> None:
    """A server may reject any parameter that is sent."""
    assert [kind().query for kind in (GetOptions, ListOptions, WriteOptions, LogOptions)] == ["", "", "", ""]
    assert WatchOptions(allow_bookmarks=False).query == "?watch=true"


def test_values_are_escaped_for_a_query() -> None:
    """Selectors contain ``=``, ``,`` and spaces; tokens any character."""
    query = ListOptions(label_selector="a in (b,c),d!=e", continue_="x+/=&").query
    assert query == "?labelSelector=a%20in%20%28b%2Cc%29%2Cd%21%3De&continue=x%2B%2F%3D%26"


def test_log_options_are_encoded_as_the_server_expects() -> None:
    """Times as RFC 3339, flags only if they are set."""
    options = LogOptions(
        container="c",
        previous=True,
        since_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        limit_bytes=9,
        timestamps=True,
    )
    assert options.query == (
        "?container=c&previous=true&sinceTime=2026-01-02T03%3A04%3A05Z&limitBytes=9&timestamps=true"
    )


def test_equal_options_are_equal() -> None:
    """They are values: tests and caches compare them."""
    assert ListOptions(limit=5) == ListOptions(limit=5)
    assert hash(ListOptions(limit=5)) == hash(ListOptions(limit=5))
    assert ListOptions(limit=5) != ListOptions(limit=6)
