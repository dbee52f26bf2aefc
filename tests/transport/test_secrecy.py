"""Canaries: fake secrets that must not occur in anything a person or a log may read."""

import io
import logging
import traceback
from pathlib import Path

import pytest

from steersman.errors import SteersmanError
from steersman.protocol.http import Request
from steersman.transport.auth.exec_plugin import ExecPlugin
from steersman.transport.auth.secret import Secret
from steersman.transport.config import Authentication, ClusterConfig, Login, Token, TokenFromFile
from steersman.transport.endpoint import Proxy
from steersman.transport.limits import Limits
from tests.support.peer import PeerConnection, Script, answer, answering, scripted
from tests.transport.conftest import Connect

CANARY = "canary-5f0e"
BROKEN = [
    answering(b"garbage\r\n"),
    answering(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n"),
    answering(answer(200, b"x" * 5000)),
    answering(answer(200, b"not gzip", "content-encoding: gzip")),
]


async def _hang_up(connection: PeerConnection) -> None:
    await connection.request()


@pytest.mark.parametrize("script", [*BROKEN, _hang_up])
@pytest.mark.parametrize(
    "authentication", [Token(Secret(CANARY)), Login("user", Secret(CANARY))], ids=["token", "login"]
)
async def test_no_failure_shows_the_credentials(
    connected: Connect, caplog: pytest.LogCaptureFixture, script: Script, authentication: Authentication
) -> None:
    """Tracebacks with local variables are sent to error trackers; tokens must not be in them."""
    async with (
        scripted(script) as peer,
        connected(peer.url, authentication=authentication, limits=Limits(body=1000)) as transport,
    ):
        with caplog.at_level(logging.DEBUG), pytest.raises(SteersmanError) as caught:
            await transport.request(Request("POST", "/", {}, b"{}"))
        shown = io.StringIO()
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).print(file=shown)
        seen = shown.getvalue() + caplog.text + repr(transport) + repr(transport.__dict__)
    assert "transport.py" in shown.getvalue()
    assert CANARY not in seen
    assert "dXNlcjpjYW5hcnk" not in seen, "the login in base64"


def test_no_configuration_shows_its_secrets(tmp_path: Path) -> None:
    """Configurations are printed when something does not work."""
    plugin = ExecPlugin(command="x", env={"A": Secret(CANARY)}, api_version="client.authentication.k8s.io/v1")
    choices: list[Authentication] = [
        Token(Secret(CANARY)),
        Login("user", Secret(CANARY)),
        TokenFromFile(tmp_path, Secret(CANARY)),
        plugin,
    ]
    for authentication in choices:
        config = ClusterConfig(
            server="https://x", authentication=authentication, proxy=Proxy.parse(f"http://u:{CANARY}@p:1")
        )
        assert CANARY not in f"{config} {config!r}"


def test_credentials_are_not_sent_unencrypted() -> None:
    """Anyone on the network could read them; only this machine itself is an exception."""
    with pytest.raises(SteersmanError, match="not sent without TLS"):
        ClusterConfig(server="http://far.test", authentication=Token(Secret(CANARY)))
    ClusterConfig(server="http://127.0.0.1:8001", authentication=Token(Secret(CANARY)))
