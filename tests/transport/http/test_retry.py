import pytest

from steersman.errors import BadAnswer, ConnectionFailed, ConnectionLost, NoAnswer, TlsError, TransportError
from steersman.protocol.http import Response
from steersman.transport.http.retry import wait_before_retry


def _response(status: int, retry_after: str | None) -> Response:
    return Response(status, [] if retry_after is None else [("retry-after", retry_after)])


@pytest.mark.parametrize(
    ("status", "retry_after", "wait"),
    [
        (429, "1", 1.0),
        (429, "0", 0.0),
        (500, "32", 32.0),
        (503, "5", 5.0),
        (504, "60", 60.0),
        (429, None, None),
        (500, None, None),
        (503, "61", None),
        (429, "-1", None),
        (429, "1.5", None),
        (429, "²", None),
        (429, "99999999999", None),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", None),
        (409, "1", None),
        (404, "1", None),
        (200, "1", None),
    ],
)
def test_only_what_the_server_asks_to_repeat_is_repeated(
    status: int, retry_after: str | None, wait: float | None
) -> None:
    """Repeating on our own account makes an overloaded server worse; waits beyond a minute are the caller's choice."""
    assert wait_before_retry("POST", _response(status, retry_after)) == wait


def test_version_from_the_future_is_the_readers_to_hear_at_once() -> None:
    """A real server asks to retry after a second, and would be asked ten times for what never comes."""
    body = (
        b'{"kind":"Status","code":504,"reason":"Timeout","details":{"retryAfterSeconds":1,'
        b'"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}'
    )
    response = Response(504, [("retry-after", "1"), ("content-type", "application/json")], body)
    assert wait_before_retry("GET", response) is None


@pytest.mark.parametrize(
    ("method", "error", "wait"),
    [
        ("GET", ConnectionLost(""), 1.0),
        ("HEAD", ConnectionLost(""), 1.0),
        ("POST", ConnectionLost(""), None),
        ("PATCH", ConnectionLost(""), None),
        ("DELETE", ConnectionLost(""), None),
        ("GET", ConnectionFailed(""), None),
        ("GET", NoAnswer(""), None),
        ("GET", BadAnswer(""), None),
        ("GET", TlsError(""), None),
    ],
)
def test_only_reads_survive_a_broken_connection(method: str, error: TransportError, wait: float | None) -> None:
    """A write may have happened; a server that is not there or not right will not be right in a second."""
    assert wait_before_retry(method, error) == wait
