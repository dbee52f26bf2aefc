"""SPDY frames, as kubectl sends them through a WebSocket."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.errors import DecodeError
from steersman.protocol.remote.spdy import (
    DICTIONARY,
    Accepted,
    Data,
    Frame,
    GoingAway,
    Opened,
    Ping,
    Reset,
    SpdyConnection,
)

#: The frame with which kubectl opens a stream: recorded from v1.36.
HEADERS = {"port": "8080", "requestid": "0", "streamtype": "error"}


def test_the_dictionary_is_that_of_the_specification() -> None:
    """Its checksum is in every first block of headers; a peer could not read ours with another one."""
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_one_side_reads_what_the_other_writes() -> None:
    """Headers are compressed relative to earlier ones, so order and state matter."""
    here, there = SpdyConnection(), SpdyConnection()
    sent = [
        here.open(1, HEADERS),
        here.open(3, {**HEADERS, "streamtype": "data"}),
        here.data(3, b"bytes"),
        here.data(3, b"", is_end=True),
        here.reset(1),
        here.ping(7),
    ]
    assert there.receive(b"".join(sent)) == [
        Opened(1, HEADERS),
        Opened(3, {**HEADERS, "streamtype": "data"}),
        Data(3, b"bytes"),
        Data(3, b"", is_end=True),
        Reset(1),
        Ping(7),
    ]
    assert here.receive(there.accept(1) + there.accept(3)) == [Accepted(1, {}), Accepted(3, {})]


@given(st.lists(st.integers(1, 40), max_size=60))
def test_frames_may_come_in_pieces_of_any_size(sizes: list[int]) -> None:
    """A WebSocket message is not a frame."""
    here, there = SpdyConnection(), SpdyConnection()
    wire = here.open(1, HEADERS) + here.data(1, b"x" * 50) + here.ping(2)
    frames: list[Frame] = []
    for size in sizes:
        frames += there.receive(wire[:size])
        wire = wire[size:]
    frames += there.receive(wire)
    assert frames == [Opened(1, HEADERS), Data(1, b"x" * 50), Ping(2)]


def test_frames_that_are_not_needed_are_skipped() -> None:
    """Settings, windows and headers of open streams."""
    here, there = SpdyConnection(), SpdyConnection()
    settings = struct.pack("!III", 0x80030004, 4, 0)
    window = struct.pack("!IIII", 0x80030009, 8, 1, 65536)
    going = struct.pack("!IIII", 0x80030007, 8, 1, 0)
    later = bytearray(here.open(1, {"a": "b"}))
    headers = struct.pack("!II", 0x80030008, len(later) - 8 - 6) + later[8:12] + later[18:]
    assert there.receive(settings + window + headers + going) == [GoingAway()]
    assert there.receive(here.open(3, {"a": "b"})) == [Opened(3, {"a": "b"})]


@pytest.mark.parametrize(
    "wire",
    [
        struct.pack("!II", 0x80020001, 0),
        struct.pack("!II", 0x80030001, 2) + b"xx",
        struct.pack("!II", 0x80030001, 14) + bytes(10) + b"junk",
        struct.pack("!II", 1, 0xFFFFFF),
        struct.pack("!II", 0x80030006, 0),
    ],
    ids=["another version", "too short", "no zlib", "too large", "no number"],
)
def test_invalid_frames_are_rejected_with_a_message(wire: bytes) -> None:
    """A broken peer must not end the server with a traceback."""
    with pytest.raises(DecodeError, match="SPDY"):
        SpdyConnection().receive(wire)


def test_headers_that_decompress_to_very_much_are_rejected() -> None:
    """A few hundred bytes can become gigabytes."""
    bomb = SpdyConnection().open(1, {"a": "b" * 1_000_000})
    with pytest.raises(DecodeError, match="exceed"):
        SpdyConnection().receive(bomb)


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_rejected(data: bytes) -> None:
    """No input may do harm."""
    try:
        SpdyConnection().receive(data)
    except DecodeError:
        return
