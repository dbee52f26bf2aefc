import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.serving.incoming import Incoming, Phase, Refused, RequestReader
from steersman.serving.limits import ServerLimits

_LIMITS = ServerLimits(head=2000, body=1000)
_TRAFFIC = (
    b"GET /api?a=b HTTP/1.1\r\nHost: x\r\nAccept: a\r\naccept: b\r\n\r\n"
    b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;e=f\r\nde\r\n0\r\nTrailer: no\r\n\r\n"
    b"PATCH /q HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody"
    b"POST /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nmore"
    b"DELETE http://x/d HTTP/1.1\r\nHost: x\r\n\r\n"
)


def _read(*pieces: bytes) -> list[Incoming | Refused]:
    reader = RequestReader(_LIMITS)
    return [item for piece in pieces for item in reader.feed(piece)]


def _refusal(data: bytes) -> int:
    items = _read(data)
    assert isinstance(items[-1], Refused), items
    return items[-1].status


def test_requests_are_parsed_in_order_with_their_bodies() -> None:
    """One chunk may contain many requests of every framing."""
    items = _read(_TRAFFIC)
    assert [
        (item.request.method, item.request.target, item.request.body) for item in items if isinstance(item, Incoming)
    ] == [
        ("GET", "/api?a=b", b""),
        ("POST", "/p", b"abcde"),
        ("PATCH", "/q", b"body"),
        ("POST", "/up", b"more"),
        ("DELETE", "/d", b""),
    ]


def test_header_names_are_lower_case_and_repeated_ones_joined() -> None:
    """Apps look headers up by one spelling."""
    (item,) = _read(b"GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\naCCEPT: b\r\n\r\n")
    assert isinstance(item, Incoming)
    assert item.request.headers == {"host": "x", "accept": "a, b"}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, len(_TRAFFIC) - 1), max_size=20))
def test_requests_are_parsed_the_same_at_any_split(cuts: list[int]) -> None:
    """The network may split bytes anywhere."""
    places = sorted({0, len(_TRAFFIC), *cuts})
    assert _read(*(_TRAFFIC[a:b] for a, b in itertools.pairwise(places))) == _read(_TRAFFIC)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([*_TRAFFIC.split(b" "), b"\r\n", b"0\r\n\r\n"]))))
def test_any_bytes_are_requests_or_rejected(pieces: list[bytes]) -> None:
    """A crash in the parser would let a client stop the server."""
    items = _read(*pieces)
    assert [item for item in items[:-1] if isinstance(item, Refused)] == []


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n", 417),
        (b"GET / HTTP/1.1\r\nHost: " + b"x" * 3000, 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001, 413),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ],
    ids=[
        "bare line feeds",
        "one bare line feed",
        "length and chunks",
        "two lengths",
        "signed length",
        "unknown coding",
        "folded header",
        "space before colon",
        "unknown method",
        "no host",
        "two hosts",
        "version",
        "connect",
        "expectation",
        "endless head",
        "announced body",
        "chunked body",
        "TLS to a plain port",
    ],
)
def test_an_invalid_request_is_rejected(data: bytes, status: int) -> None:
    """Every ambiguity between two parsers is a way to smuggle a request past one of them."""
    assert _refusal(data) == status


def test_nothing_is_parsed_after_a_rejection() -> None:
    """Bytes after a malformed request mean nothing, least of all another request."""
    items = _read(b"BREW / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [type(item) for item in items] == [Refused]


def test_the_phase_says_what_is_awaited() -> None:
    """The timeouts depend on it."""
    reader = RequestReader(_LIMITS)
    assert reader.phase is Phase.IDLE
    reader.feed(b"PUT / HTTP/1.1\r\nHost")
    assert reader.phase is Phase.HEAD
    reader.feed(b": x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
    assert (reader.phase, reader.owes_continue) == (Phase.BODY, True)
    reader.feed(b"x")
    assert (reader.phase, reader.owes_continue) == (Phase.IDLE, False)


def test_bytes_after_an_upgrade_wait_until_it_is_decided() -> None:
    """They belong to the new protocol if the upgrade is accepted, otherwise to the next request."""
    reader = RequestReader(_LIMITS)
    ask = b"GET /exec HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert len(reader.feed(ask + b"GET /next HTTP/1.1\r\n")) == 1
    assert reader.feed(b"Host: x\r\n\r\n") == []
    assert reader.undecided == b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"
    (item,) = reader.go_on()
    assert isinstance(item, Incoming)
    assert item.request.target == "/next"
