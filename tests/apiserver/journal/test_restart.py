import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from steersman.apiserver.authentication import ADMIN
from steersman.apiserver.housekeeping.housekeeping import HousekeepingOptions
from steersman.apiserver.journal.durable_app import DurableApp
from steersman.apiserver.journal.kept_cluster import kept_cluster
from steersman.apiserver.server import ApiServer
from steersman.protocol.http import Request
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.housekeeping.kept import CONFIG_MAPS, DEFINITIONS, definition

Document = dict[str, Any]
WIDGETS = "/apis/demo.dev/v1/namespaces/default/widgets"
JSON = "application/json"


class Life:
    """One life of a kept server."""

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
        """Give how a read by somebody else ends."""
        headers = {"authorization": f"Bearer {token}"}
        return (await self._transport._request(Request("GET", path, headers, b""), None)).status


@asynccontextmanager
async def life(path: Path, *, housekeeping: bool = True) -> AsyncIterator[Life]:
    """Start a server on a directory."""
    clock = FakeClock()
    with kept_cluster(path, clock) as kept:
        api = ApiServer(
            clock=clock,
            randomness=Randomness(),
            tokens={"admin": ADMIN},
            ledger=kept.ledger,
            housekeeping=HousekeepingOptions() if housekeeping else None,
        )
        transport = InMemoryTransport(DurableApp(api, kept.journal), clock=clock)
        yield Life(api, transport)
        await transport.close()


async def test_custom_resources_are_served_after_a_restart_as_before(tmp_path: Path) -> None:
    """Definitions are objects, but being served is a state of the server."""
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


async def test_housekeeping_finishes_after_a_restart_what_it_had_not_begun(tmp_path: Path) -> None:
    """The server may be killed between a delete and what follows from it."""
    async with life(tmp_path, housekeeping=False) as server:
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


async def test_what_users_may_do_is_known_after_a_restart(tmp_path: Path) -> None:
    """Rights are objects, too; nobody may gain or lose any by a restart."""
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
    """A cluster at rest stays as it is, however often its server starts."""
    async with life(tmp_path) as server:
        await server.send("POST", DEFINITIONS, definition("Widget", "widgets"))
        version = server.api.ledger.version
    for _ in range(3):
        async with life(tmp_path) as server:
            assert server.api.ledger.version == version
