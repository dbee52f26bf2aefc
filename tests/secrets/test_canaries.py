"""Seventy fake secrets, planted wherever a user can have one; none is seen in anything that is written."""

import base64
from pathlib import Path

import pytest

from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.secrets.canaries import Canaries
from tests.secrets.commands import run_commands
from tests.secrets.contents import follow_redirects, reconcile_secrets, write_secrets
from tests.secrets.credentials import use_credentials


def _judge(canaries: Canaries, planted: int) -> None:
    leaks = canaries.leaks()
    assert not leaks, "\n".join(leaks)
    assert len(canaries.planted) >= planted


async def test_no_credential_is_seen(tmp_path: Path) -> None:
    """Kubeconfigs, token files, keys, plugins, proxies and redirects, used without success, at full verbosity."""
    canaries = Canaries()
    with canaries.logging():
        await use_credentials(canaries, tmp_path)
        await follow_redirects(canaries)
    _judge(canaries, 30)


async def test_no_content_of_a_secret_is_seen_on_the_way_to_the_server(tmp_path: Path) -> None:
    """In the server's log, its audit log, its error messages, and the objects in its memory."""
    canaries = Canaries()
    with canaries.logging():
        await write_secrets(canaries, tmp_path)
    _judge(canaries, 25)


async def test_no_content_of_a_secret_is_seen_in_an_operator(cluster: Cluster, fake_clock: FakeClock) -> None:
    """In logs, events, metrics, reprs and recorded requests, while reconciles, webhooks and watches fail."""
    canaries = Canaries()
    with canaries.logging():
        await reconcile_secrets(canaries, cluster, fake_clock.advance)
    _judge(canaries, 15)


def test_no_secret_is_seen_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users copy the output of commands into issues and chats, most of all with --debug."""
    monkeypatch.chdir(tmp_path)
    canaries = Canaries()
    with canaries.logging():
        run_commands(canaries, tmp_path)
    assert "cannot" in "".join(canaries.seen["what steer writes"])
    _judge(canaries, 30)


def test_a_canary_that_was_written_is_found() -> None:
    """Otherwise the tests would prove nothing: as text, in a URL, and anywhere inside base64."""
    for written in ("{}", "x%2F{}", "user:{}"):
        canaries = Canaries()
        text = written.format(canaries.plant("a place"))
        canaries.see("plain", text)
        canaries.see("coded", base64.b64encode(text.encode()).decode())
        assert canaries.leaks() == ["a place in plain", "a place in coded"]
