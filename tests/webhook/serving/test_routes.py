"""Which function is called at which path; any other request is rejected with the reason."""

import asyncio
import json

import pytest

from steersman.clock import RealClock
from steersman.errors import DeclarationError, DecodeError
from steersman.protocol.http import Request
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from steersman.webhook.reviews.failure import ReviewFailed
from steersman.webhook.serving.routes import LARGEST, Routes

JSON = {"content-type": "application/json; charset=utf-8"}


async def _post(routes: Routes, target: str, body: bytes = b"{}", **change: str) -> tuple[int, str]:
    """Post to some routes; return the status and the message, or the unchanged body."""
    headers = {**JSON, **{name.replace("_", "-"): value for name, value in change.items() if name != "method"}}
    transport = InMemoryTransport(routes, clock=RealClock())
    response = await transport.request(Request(change.get("method", "POST"), target, headers, body))
    await transport.close()
    document = json.loads(response.body)
    return response.status, document["message"] if document.get("kind") == "Status" else response.body.decode()


def _echo(body: bytes) -> bytes:
    return body


async def test_a_synchronous_and_an_asynchronous_function_can_be_mounted() -> None:
    """Conversion computes, admission may wait."""

    async def late(body: bytes) -> bytes:
        return body

    routes = Routes(RealClock())
    routes.mount("/convert", _echo)
    routes.mount("/validate", late)
    assert await _post(routes, "/convert?timeout=30s", b'{"a":1}') == (200, '{"a":1}')
    assert await _post(routes, "/validate", b'{"b":1}') == (200, '{"b":1}')


async def test_a_request_that_is_not_a_posted_review_is_rejected() -> None:
    """The message reaches the user who tried to write an object."""
    routes = Routes(RealClock())
    routes.mount("/a", _echo)
    assert await _post(routes, "/b") == (404, "there is no webhook at /b")
    assert await _post(routes, "/a", method="PUT") == (405, "reviews are sent with POST")
    assert await _post(routes, "/a", content_type="text/plain") == (415, "reviews must be application/json")
    status, why = await _post(routes, "/a", b" " * (LARGEST + 1))
    assert (status, why) == (413, f"the review exceeds {LARGEST} bytes")


async def test_reviews_that_cannot_be_answered_say_why() -> None:
    """The API server follows its failure policy, and its message has the reason."""

    def broken(_: bytes) -> bytes:
        raise DecodeError("not a ConversionReview")

    def failed(_: bytes) -> bytes:
        raise ReviewFailed(500, "check failed with KeyError")

    def bug(_: bytes) -> bytes:
        raise KeyError("secret")

    routes = Routes(RealClock())
    for path, review in (("/broken", broken), ("/failed", failed), ("/bug", bug)):
        routes.mount(path, review)
    assert await _post(routes, "/broken") == (400, "not a ConversionReview")
    assert await _post(routes, "/failed") == (500, "check failed with KeyError")
    assert await _post(routes, "/bug") == (500, "the webhook at /bug failed with KeyError")


@pytest.mark.parametrize(
    ("query", "limit"),
    [("?timeout=10s", 9.0), ("?timeout=1s", 0.9), ("?timeout=99s", 27.0), ("?timeout=x", 9.0), ("", 9)],
)
async def test_the_timeout_is_a_little_shorter_than_that_of_the_api_server(
    fake_clock: FakeClock, query: str, limit: float
) -> None:
    """An error message is better than a broken connection."""
    asked = []

    async def never(body: bytes) -> bytes:
        asked.append(fake_clock.monotonic())
        await fake_clock.sleep(1000)
        return body

    routes = Routes(fake_clock)
    routes.mount("/slow", never)
    transport = InMemoryTransport(routes, clock=fake_clock)
    waiting = transport.request(Request("POST", f"/slow{query}", JSON, b"{}"), timeout=None)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(waiting)
        await fake_clock.advance(limit - 0.01)
        assert not task.done()
        await fake_clock.advance(0.02)
        response = await task
    assert response.status == 504
    assert json.loads(response.body)["message"] == f"no response within {limit:g} s"
    assert asked


def test_two_functions_at_one_path_are_rejected() -> None:
    """One of them would silently never be called."""
    routes = Routes(RealClock())
    routes.mount("/a", _echo)
    with pytest.raises(DeclarationError, match="pass name= to one of them"):
        routes.mount("/a", _echo)
