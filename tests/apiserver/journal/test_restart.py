import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.journal.directory import DataDirectory
from steersman.apiserver.journal.durable_app import DurableApp
from steersman.apiserver.journal.kept_cluster import kept_cluster
from steersman.apiserver.server import ApiServer
from steersman.errors import ConfigError
from steersman.protocol.http import Request
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.background.controlled_server import CONFIG_MAPS, DEFINITIONS, definition

Document = dict[str, Any]
WIDGETS = "/apis/demo.dev/v1/namespaces/default/widgets"
JSON = "application/json"


class Life:
    """One run of a server with stored data."""

    def __init__(self, api: ApiServer, transport: InMemoryTransport) -> None:
        self.api = api
        self._transport = transport

    async def send(self, method: str, path: str, body: Document | None = None, media: str = JSON) -> Document:
        """Send a request as the admin; it must succeed."""
        headers = {"content-type": media, "authorization": "Bearer admin"}
        data = b"" if body is None else json.dumps(body).encode()
        response = await self._transport._request(Request(method, path, headers, data), None)
        answer: Document = json.loads(response.body)
        assert response.status < 300, answer
        return answer

    async def status_as(self, token: str, path: str) -> int:
        """Return the status of a read by another user."""
        headers = {"authorization": f"Bearer {token}"}
        return (await self._transport._request(Request("GET", path, headers, b""), None)).status


@asynccontextmanager
async def life(path: Path, *, controllers: bool = True) -> AsyncIterator[Life]:
    """Start a server on a directory."""
    clock = FakeClock()
    with kept_cluster(path, clock) as kept:
        api = ApiServer(
            clock=clock,
            randomness=Randomness(),
            tokens={"admin": ADMIN},
            objects=kept.objects,
            controllers=ControllerOptions() if controllers else None,
        )
        transport = InMemoryTransport(DurableApp(api, kept.journal), clock=clock)
        yield Life(api, transport)
        await transport.close()


async def test_custom_resources_are_served_after_a_restart_as_before(tmp_path: Path) -> None:
    """CRDs are stored objects, but serving them is state of the server."""
    async with life(tmp_path) as server:
        await server.send("POST", DEFINITIONS, definition("Widget", "widgets"))
        widget = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": 1}}
        before = await server.send("POST", WIDGETS, widget)
    async with life(tmp_path) as server:
        assert await server.send("GET", f"{WIDGETS}/w") == before
        patch = {"spec": {"a": 2}}
        after = await server.send("PATCH", f"{WIDGETS}/w", patch, "application/merge-patch+json")
        assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
        assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
        names = [group["name"] for group in (await server.send("GET", "/apis"))["groups"]]
        assert "demo.dev" in names


async def test_controllers_catch_up_after_a_restart(tmp_path: Path) -> None:
    """The server may be killed between a delete and the cleanup that follows from it."""
    async with life(tmp_path, controllers=False) as server:
        owner = await server.send("POST", CONFIG_MAPS, {"metadata": {"name": "o"}})
        uid = owner["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}
        await server.send("POST", CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [reference]}})
        await server.send("DELETE", f"{CONFIG_MAPS}/o")
        await server.send("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        await server.send("DELETE", "/api/v1/namespaces/n")
    async with life(tmp_path) as server:
        assert (await server.send("GET", CONFIG_MAPS))["items"] == []
        names = [item["metadata"]["name"] for item in (await server.send("GET", "/api/v1/namespaces"))["items"]]
        assert "n" not in names


async def test_permissions_survive_a_restart(tmp_path: Path) -> None:
    """Roles and bindings are objects, too; no user may gain or lose permissions by a restart."""
    group = "/apis/rbac.authorization.k8s.io/v1"
    async with life(tmp_path) as server:
        rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
        await server.send("POST", f"{group}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
        binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
        await server.send("POST", f"{group}/clusterrolebindings", binding)
    async with life(tmp_path) as server:
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        token = (await server.send("POST", path, {"spec": {}}))["status"]["token"]
        assert await server.status_as(token, "/api/v1/pods") == 200
        assert await server.status_as(token, "/api/v1/secrets") == 403


async def test_a_restart_writes_nothing_by_itself(tmp_path: Path) -> None:
    """An idle cluster stays unchanged, however often its server starts."""
    async with life(tmp_path) as server:
        await server.send("POST", DEFINITIONS, definition("Widget", "widgets"))
        version = server.api.objects.version
    for _ in range(3):
        async with life(tmp_path) as server:
            assert server.api.objects.version == version


def keep_only(path: Path, name: str) -> None:
    """Delete all files of a directory but one, which is created if it does not exist."""
    for file in path.iterdir():
        if file.name != name:
            file.unlink()
    if not (path / name).exists():
        (path / name).write_bytes(b"what was here")


def content_of(path: Path) -> dict[str, bytes]:
    """Return the content of all files of a directory but the lock."""
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != "lock"}


@pytest.mark.parametrize("left", ["cluster.db-wal", "watermark"])
async def test_a_database_missing_beside_its_log_is_not_an_empty_cluster(tmp_path: Path, left: str) -> None:
    """Operators would meet an empty cluster, and the log, from which it may be recovered, would be overwritten."""
    async with life(tmp_path) as first:
        await first.send("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    keep_only(tmp_path, left)
    before = content_of(tmp_path)
    for _ in range(2):
        with pytest.raises(ConfigError, match=rf"cluster.db is missing, but {left} of it is still there"):
            async with life(tmp_path):
                pass
    with pytest.raises(ConfigError, match=r"Put cluster.db back from a backup, or delete"):
        DataDirectory(tmp_path).fill(1, [])
    with pytest.raises(ConfigError, match="nothing was changed"):
        DataDirectory(tmp_path).read()
    assert content_of(tmp_path) == before


async def test_a_directory_with_only_an_identity_is_a_new_cluster(tmp_path: Path) -> None:
    """Kubeconfigs stay valid when a user deletes the data on purpose."""
    async with life(tmp_path) as first:
        await first.send("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    keep_only(tmp_path, "identity.json")
    async with life(tmp_path) as second:
        assert (await second.send("GET", CONFIG_MAPS))["items"] == []
