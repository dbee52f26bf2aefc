"""Watch frames: from bytes to events, at any chunking of the network."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import ConnectionLost, DecodeError, Expired
from steersman.protocol.watch_frames import (
    Added,
    Applied,
    Bookmark,
    Deleted,
    Failed,
    Modified,
    RawEvent,
    WatchFrames,
)


def frame(kind: str, obj: Any) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def shown(event: RawEvent) -> tuple[str, Any]:
    """Return an event in a form that can be compared with what was sent."""
    match event:
        case Bookmark(version=version, initial_events_end=ends):
            return "BOOKMARK", (version, ends)
        case Failed(error=error):
            return "ERROR", (error.code, str(error))
        case Added(object=raw):
            return "ADDED", json.loads(bytes(raw))
        case Modified(object=raw):
            return "MODIFIED", json.loads(bytes(raw))
        case Deleted(object=raw):
            return "DELETED", json.loads(bytes(raw))
    raise AssertionError(event)


_names = st.text(max_size=20)
_objects = st.dictionaries(_names, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _names, max_size=4)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), _objects), max_size=8),
    st.lists(st.integers(0, 2000), max_size=12),
    st.booleans(),
)
def test_events_are_the_same_at_any_split(events: list[tuple[str, Any]], cuts: list[int], newline: bool) -> None:
    """The network splits anywhere, also inside a character; the last newline may be missing."""
    data = b"".join(frame(kind, obj) for kind, obj in events)
    if not newline:
        data = data[:-1]
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    frames = WatchFrames()
    seen = [shown(event) for start, end in itertools.pairwise(places) for event in frames.feed(data[start:end])]
    seen += [shown(event) for event in frames.finish()]
    assert seen == events


def test_bookmark_has_a_version_and_may_end_the_initial_events() -> None:
    """A bookmark has nothing else: handlers must never take it for an object."""
    plain = frame("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "12", "creationTimestamp": None}})
    last = frame(
        "BOOKMARK", {"metadata": {"resourceVersion": "13", "annotations": {"k8s.io/initial-events-end": "true"}}}
    )
    assert [shown(event) for event in WatchFrames().feed(plain + last)] == [
        ("BOOKMARK", ("12", False)),
        ("BOOKMARK", ("13", True)),
    ]


def test_bookmark_created_here_equals_one_that_was_parsed() -> None:
    """Tests and servers create bookmarks, too."""
    (read,) = WatchFrames().feed(
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5",'
        b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
    )
    assert read == Bookmark.of("5", initial_events_end=True)
    assert read != Bookmark.of("5")


def test_error_event_has_the_exception_of_its_status() -> None:
    """410 arrives inside a 200: the type shows it, not the connection."""
    expired = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
    (event,) = WatchFrames().feed(frame("ERROR", expired))
    assert isinstance(event, Failed)
    assert isinstance(event.error, Expired)


def test_recorded_watch_is_parsed(exchanges: list[dict[str, Any]]) -> None:
    """The real server's lines, byte for byte."""
    bodies = [exchange["response"] for exchange in exchanges if "?watch=1" in exchange["path"]]
    events = [event for body in bodies if '"type"' in body for event in WatchFrames().feed(body.encode())]
    assert {type(event) for event in events} == {Added, Failed}
    assert [type(event.error) for event in events if isinstance(event, Failed)] == [Expired]


def test_object_bytes_are_those_that_were_sent() -> None:
    """The informer stores them unchanged."""
    (event,) = WatchFrames().feed(b'{"type":"ADDED","object":{"a" : [1, 2]}}\r\n\n')
    assert isinstance(event, Applied)
    assert bytes(event.object) == b'{"a" : [1, 2]}'


def test_type_may_come_after_the_object() -> None:
    """JSON objects have no order."""
    (event,) = WatchFrames().feed(b'{"object":{"a":1},"type":"DELETED"}\n')
    assert shown(event) == ("DELETED", {"a": 1})


def test_unknown_type_is_skipped_and_other_events_are_not(caplog: pytest.LogCaptureFixture) -> None:
    """A newer server must not stop an older client."""
    data = frame("ADDED", {"n": 1}) + frame("SHRUNK", {"n": 2}) + frame("MODIFIED", {"n": 3})
    assert [shown(event) for event in WatchFrames().feed(data)] == [("ADDED", {"n": 1}), ("MODIFIED", {"n": 3})]
    assert "unknown type" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b'{"type":"ADDED"}\n',
        b'{"type":"ADDED","object":{"a":}}\n',
        b"[]\n",
        b'{"type":"BOOKMARK","object":{}}\n',
        b'{"type":"ADDED","object":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}\n",
        b'{"type":"ADDED\xff","object":{}}\n',
    ],
    ids=["text", "no object", "broken", "list", "no version", "deep", "no utf-8"],
)
def test_malformed_frame_is_an_error_after_the_events_before_it(line: bytes) -> None:
    """Earlier events are valid; later ones cannot be trusted."""
    events = iter(WatchFrames().feed(frame("ADDED", {"n": 1}) + line + frame("ADDED", {"n": 2})))
    assert shown(next(events)) == ("ADDED", {"n": 1})
    with pytest.raises(DecodeError):
        next(events)


def test_stream_that_ends_inside_an_event_is_a_lost_connection() -> None:
    """Half an object must not be taken for a whole one, and the watch can resume from the last complete one."""
    frames = WatchFrames()
    assert list(frames.feed(b'{"type":"ADDED","object":{"a":')) == []
    with pytest.raises(ConnectionLost, match="in the middle of an event"):
        frames.finish()


def test_endless_line_is_an_error_and_takes_no_more_memory_than_the_limit() -> None:
    """A gigabyte without a newline is an attack or a broken proxy."""
    frames = WatchFrames(max_frame=1000)
    for _ in range(10):
        assert not list(frames.feed(b"x" * 100))
    with pytest.raises(DecodeError, match="exceeds 1000 bytes"):
        frames.feed(b"x")
    assert repr(frames) == "<WatchFrames held=0>"


def test_frame_that_is_too_long_is_an_error_even_when_its_end_comes() -> None:
    """The limit must not depend on where the network cuts."""
    frames = WatchFrames(max_frame=1000)
    frames.feed(b"x" * 900)
    with pytest.raises(DecodeError, match="exceeds 1000 bytes"):
        frames.feed(b"x" * 200 + b"\n")


def test_many_short_frames_in_a_row_are_not_one_long_one() -> None:
    """The limit applies to one event, not to a chunk."""
    frames = WatchFrames(max_frame=100)
    line = frame("ADDED", {"n": 1})
    data = line * 50
    half = len(line) // 2
    assert len(list(frames.feed(data[:half]))) + len(list(frames.feed(data[half:]))) == 50
