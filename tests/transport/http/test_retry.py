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
def test_only_answers_with_retry_after_are_retried(status: int, retry_after: str | None, wait: float | None) -> None:
    """Other retries would make an overloaded server worse; delays beyond a minute are the caller's choice."""
    assert wait_before_retry("POST", _response(status, retry_after)) == wait


def test_a_version_from_the_future_is_not_retried() -> None:
    """A real server asks to retry after a second, and would get ten requests for nothing."""
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
def test_only_reads_are_retried_after_a_broken_connection(
    method: str, error: TransportError, wait: float | None
) -> None:
    """A write may have happened; an unreachable or wrong server does not change within a second."""
    assert wait_before_retry(method, error) == wait
