"""Connecting: from a kubeconfig to a working client over a real socket, and closing it."""

import asyncio
from pathlib import Path

import pytest

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.errors import ConfigError, ConnectionFailed
from steersman.kinds.core_v1 import ConfigMap, Namespace
from steersman.objects.meta import meta
from steersman.serving.server import Server


def kubeconfig(folder: Path, url: str) -> Path:
    """Write the kubeconfig of a server without credentials."""
    path = folder / "config"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts:
- {{name: here, context: {{cluster: c, user: u}}}}
- {{name: there, context: {{cluster: c, user: u, namespace: elsewhere}}}}
"""
    )
    return path


async def test_client_works_over_a_socket_and_takes_its_namespace_from_the_context(tmp_path: Path) -> None:
    """What works in memory must work over the network, watches included."""
    clock = RealClock()
    async with Server(ApiServer(clock=clock), clock=clock) as server:
        path = kubeconfig(tmp_path, server.url)
        async with Client.connect(kubeconfig=path, context="there", field_manager="me") as client:
            assert (client.namespace, client.field_manager) == ("elsewhere", "me")
            await client.create(Namespace(meta("elsewhere")))
            async with client.watch(ConfigMap) as events:
                known = len(await events.initial())
                made = await client.create(ConfigMap(meta("a"), data={"k": "v"}))
                assert made.namespace == "elsewhere"
                async with asyncio.timeout(10):
                    assert (await anext(events)).object.name == "a"
            assert len([obj async for obj in client.list(ConfigMap)]) == known + 1


async def test_unknown_context_is_named(tmp_path: Path) -> None:
    """The user needs the file and the name to find the mistake."""
    with pytest.raises(ConfigError, match="nowhere"):
        async with Client.connect(kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1"), context="nowhere"):
            pass


async def test_outside_of_a_cluster_the_service_account_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what is missing."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigError, match="not in a cluster"):
        async with Client.in_cluster():
            pass


async def test_unreachable_server_is_a_clear_error(tmp_path: Path) -> None:
    """No connection is opened before the first request, which then fails at once."""
    async with Client.connect(kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1")) as client:
        with pytest.raises(ConnectionFailed):
            await client.get(ConfigMap, "a")
