"""HTTP services outside the cluster: where requests are sent, and what comes back."""

import pytest

from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError, ConnectionFailed, NoAnswer
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Server
from steersman.testing.fake_clock import FakeClock
from steersman.transport.services import HttpServices


class Echo:
    """Answers with the request."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer, except on the path that stays silent."""
        self.requests.append(request)
        if request.target != "/silence":
            exchange.respond(Response(418, [], request.body))


async def test_a_service_is_called_over_http() -> None:
    """As in production: a real server, JSON in the request, any status in the answer."""
    app, clock = Echo(), RealClock()
    services = HttpServices(clock)
    async with Server(app, clock=clock) as server:
        answer = await services.at(f"{server.url}/api").request(
            "POST", "/things", json={"a": 1}, headers={"X-Key": "k"}
        )
        await services.close()
    assert (answer.status, answer.body) == (418, b'{"a":1}')
    [request] = app.requests
    assert (request.method, request.target) == ("POST", "/api/things")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-key"] == "k"


@pytest.mark.parametrize(
    ("url", "path", "target"),
    [
        ("http://hooks.example.com", "", "/"),
        ("http://hooks.example.com/", "/a", "/a"),
        ("http://hooks.example.com/in/key", "", "/in/key"),
        ("http://hooks.example.com/in/", "", "/in/"),
        ("http://hooks.example.com/in?key=1", "", "/in?key=1"),
        ("http://hooks.example.com/in?key=1", "/x?y=2", "/in/x?y=2&key=1"),
        ("http://hooks.example.com?key=1", "", "/?key=1"),
    ],
)
async def test_the_url_and_the_path_make_the_target(url: str, path: str, target: str) -> None:
    """A webhook's URL is used unchanged; the URL of a service is the prefix of its paths."""
    app = Echo()
    services = HttpServices(FakeClock())
    services.serve("http://hooks.example.com", app)
    await services.at(url).request("GET", path)
    assert [request.target for request in app.requests] == [target]


async def test_a_service_that_does_not_answer_times_out() -> None:
    """A provider that hangs must not hang its operator."""
    clock = FakeClock()
    services = HttpServices(clock)
    services.serve("http://slow.example.com", Echo())
    failures: list[BaseException] = []

    async def ask() -> None:
        try:
            await services.at("http://slow.example.com").request("GET", "/silence", timeout=5)
        except NoAnswer as error:
            failures.append(error)

    async with background(ask(), name="ask"):
        await clock.advance(4.9)
        assert not failures
        await clock.advance(0.2)
    assert len(failures) == 1


async def test_an_unreachable_service_is_a_transport_error() -> None:
    """The author catches one family of errors, whatever failed."""
    services = HttpServices(RealClock())
    with pytest.raises(ConnectionFailed):
        await services.at("http://127.0.0.1:9").request("GET")
    await services.close()


@pytest.mark.parametrize(
    "url", ["secret:9696", "ftp://a", "http://user:secret@a/b", "https://", "https://a/secret b", "https://a/secret\n"]
)
async def test_an_invalid_url_is_rejected(url: str) -> None:
    """An invalid setting is reported at once, without the password that may be in it."""
    with pytest.raises(ConfigError) as refused:
        HttpServices(FakeClock()).at(url)
    assert "secret" not in str(refused.value)


async def test_secrets_in_urls_are_not_shown() -> None:
    """The path of an incoming webhook is its password; logs show objects."""
    service = HttpServices(FakeClock()).at("https://hooks.example.com/services/T0/SECRET")
    assert "SECRET" not in repr(service)
