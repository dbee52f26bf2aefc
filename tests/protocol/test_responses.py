"""The meaning of responses, compared with those of a real API server."""

import json
from typing import Any

import pytest

from steersman.errors import (
    AlreadyExists,
    ApiError,
    BadAnswer,
    BadRequest,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from steersman.protocol.http import Response
from steersman.protocol.responses import body_of, error_from_status, error_of, is_too_large_version, warnings_of

#: The exception of each failing status code of the recording; written by hand, independent of the implementation.
MEANING: dict[int, tuple[type[ApiError], ...]] = {
    400: (BadRequest,),
    401: (Unauthorized,),
    403: (Forbidden,),
    404: (NotFound,),
    406: (NotAcceptable,),
    409: (AlreadyExists, Conflict),
    413: (RequestEntityTooLarge,),
    415: (UnsupportedMediaType,),
    422: (Invalid,),
    500: (InternalError, ApiError),
    504: (Timeout,),
}


def answer(exchange: dict[str, Any]) -> Response:
    """Return a recorded answer as a transport would."""
    headers = [("content-type", exchange["content_type"])]
    warnings = exchange["warnings"]
    texts = warnings if isinstance(warnings, list) else [warnings] if warnings else []
    headers += [("warning", text) for text in texts]
    return Response(exchange["status"], headers, exchange["response"].encode())


def test_recorded_successes_return_their_bodies(exchanges: list[dict[str, Any]]) -> None:
    """No successful answer of a real server may be taken for a failure."""
    successes = [answer(exchange) for exchange in exchanges if exchange["status"] < 300]
    assert len(successes) > 20
    assert all(body_of(response) is response.body for response in successes)


def test_recorded_failures_raise_their_exceptions(exchanges: list[dict[str, Any]]) -> None:
    """A real server's failures become the right exceptions, with its own messages and causes."""
    failures = [exchange for exchange in exchanges if exchange["status"] >= 300]
    assert {exchange["status"] for exchange in failures} == set(MEANING)
    for exchange in failures:
        error = error_of(answer(exchange))
        assert isinstance(error, MEANING[exchange["status"]]), exchange["case"]
        assert error.code == exchange["status"]
        if "json" in exchange["content_type"]:
            status = json.loads(exchange["response"])
            assert str(error) == status["message"]
            assert error.reason == status.get("reason", "")
            assert len(error.causes) == len(status.get("details", {}).get("causes", []))


def test_invalid_objects_have_every_cause(exchanges: list[dict[str, Any]]) -> None:
    """A user who made two mistakes must see both."""
    exchange = next(exchange for exchange in exchanges if exchange.get("case") == "missing required")
    error = error_of(answer(exchange))
    assert isinstance(error, Invalid)
    assert error.causes[0] == Cause("FieldValueRequired", "Required value", "spec.color")
    assert (error.group, error.kind, error.name) == ("demo.dev", "Widget", "a")


def test_version_that_is_too_large_differs_from_other_timeouts(exchanges: list[dict[str, Any]]) -> None:
    """Only for the former another version helps."""
    exchange = next(exchange for exchange in exchanges if exchange["status"] == 504)
    assert is_too_large_version(error_of(answer(exchange)))
    assert not is_too_large_version(Timeout("slow", code=504))
    assert not is_too_large_version(ValueError())


def status(**members: Any) -> bytes:
    """Return the bytes of a Status."""
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", **members}).encode()


@pytest.mark.parametrize(
    ("code", "reason", "meaning"),
    [
        (410, "Expired", Expired),
        (410, "Gone", Gone),
        (410, "", Gone),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (409, "SomethingNew", Conflict),
        (429, "TooManyRequests", TooManyRequests),
        (500, "ServerTimeout", ServerTimeout),
        (503, "ServiceUnavailable", ServiceUnavailable),
        (418, "Teapot", ApiError),
    ],
)
def test_reason_takes_precedence_over_the_code(code: int, reason: str, meaning: type[ApiError]) -> None:
    """One code can have two meanings; an unknown reason falls back to the code."""
    assert type(error_from_status(status(code=code, reason=reason, message="m"))) is meaning


def test_retry_after_comes_from_the_status_or_from_the_header() -> None:
    """Servers send it in either place, proxies only in the header."""
    inside = Response(429, [("content-type", "application/json")], status(code=429, details={"retryAfterSeconds": 3}))
    outside = Response(429, [("content-type", "text/plain"), ("retry-after", "9")], b"Too many requests")
    for response, seconds in ((inside, 3.0), (outside, 9.0)):
        error = error_of(response)
        assert isinstance(error, TooManyRequests)
        assert error.retry_after == seconds


def test_retry_after_as_a_date_is_ignored() -> None:
    """Kubernetes sends only seconds; clocks of two machines may differ."""
    error = error_of(Response(503, [("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], b"later"))
    assert isinstance(error, ServiceUnavailable)
    assert error.retry_after is None


@pytest.mark.parametrize("code", [200, 403, 502])
def test_html_page_is_not_an_api_answer(code: int) -> None:
    """A login page of a proxy must not look like an object, nor like a failure of the API."""
    page = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>" + b" " * 5000
    with pytest.raises(BadAnswer, match=rf"status {code} is an HTML page that begins with '<!DOCTYPE html> <html>"):
        body_of(Response(code, [("content-type", "text/html; charset=utf-8")], page))


def test_html_without_a_content_type_is_detected_as_well() -> None:
    """Failing proxies seldom set it correctly."""
    with pytest.raises(BadAnswer):
        body_of(Response(200, [], b"\r\n<html>"))


def test_redirect_names_its_target() -> None:
    """Usually the URL of the server lacks its scheme or port."""
    with pytest.raises(BadAnswer, match="https://login"):
        body_of(Response(302, [("location", "https://login.example.com")], b""))


@pytest.mark.parametrize(
    "body", [b"", b"nope", b"[1]", b'{"kind":"Status"', b'{"kind":"Status","code":"x"}', b"\xff\xfe", b"[" * 100_000]
)
def test_broken_failure_has_the_type_of_its_code(body: bytes) -> None:
    """Whatever the body is, the caller learns that the server is not available."""
    error = error_of(Response(503, [("content-type", "application/json")], body))
    assert isinstance(error, ServiceUnavailable)
    assert str(error)


def test_unknown_code_has_a_message() -> None:
    """An empty answer with an unknown code must not have an empty message."""
    assert str(error_of(Response(599, [], b""))) == "status 599"


@pytest.mark.parametrize(
    ("headers", "texts"),
    [
        (['299 - "unknown field \\"spec.bogus\\""'], ['unknown field "spec.bogus"']),
        (['299 - "one", 299 host.example "two, three" "Wed, 21 Oct 2015 07:28:00 GMT"'], ["one", "two, three"]),
        (['299 - "a"', '299 - "b \\\\ c"'], ["a", "b \\ c"]),
        (['199 - "not persistent"'], []),
        (["299 - unquoted", ""], []),
        (['299 - "unfinished'], []),
        ([], []),
    ],
)
def test_warnings_are_parsed_with_their_escapes(headers: list[str], texts: list[str]) -> None:
    """A warning quotes field names, so its text contains many escaped quotes."""
    assert warnings_of(Response(200, [("warning", header) for header in headers], b"")) == texts


def test_recorded_warnings_are_parsed(exchanges: list[dict[str, Any]]) -> None:
    """The real server's format is the one that counts."""
    warned = [warnings_of(answer(exchange)) for exchange in exchanges if exchange["warnings"]]
    assert warned
    assert all(texts and '\\"' not in text for texts in warned for text in texts)
