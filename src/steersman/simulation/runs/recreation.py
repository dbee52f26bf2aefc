"""`Recreation`: users delete their objects and create them again, with the same names and other uids.

An object with finalizers is gone only when the operator has removed them; it is created again right then, as by a user
who waits for it. What the operator has written into labels, annotations and finalizers is not part of a user's manifest
and is left out. An object that the scenario itself deletes meanwhile stays deleted.
"""

import asyncio
from collections.abc import Iterable, Iterator

import msgspec

from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.json_types import JsonObject
from steersman.objects.identity import ApiResource
from steersman.protocol.http import Request
from steersman.simulation.runs.world import SimulatedCluster
from steersman.transport.in_memory import InMemoryTransport

_JSON = {"content-type": "application/json"}
_CREATED = 201


class Recreation:
    """Follows the objects of users in one run, and recreates them when a plan asks for it."""

    def __init__(self, cluster: SimulatedCluster, resources: Iterable[ApiResource]) -> None:
        self._cluster = cluster
        self._store = cluster.server.objects.store
        self._transport = InMemoryTransport(cluster.server, clock=cluster.clock)
        #: Resources of users' objects, by the name under which they are stored.
        self._resources = {f"{one.plural}.{one.gvk.group}".rstrip("."): one for one in resources}
        #: Metadata of each object when it was created, by uid.
        self._manifests: dict[str, JsonObject] = {}
        #: Paths of objects that are to be created again when they are gone, by uid.
        self._awaited: dict[str, str] = {}
        self._gone: list[tuple[str, Record]] = []
        self._is_requested = False
        self._wakeup = asyncio.Event()
        cluster.user.on_delete = self._forget

    def __repr__(self) -> str:
        return f"<Recreation awaited={len(self._awaited)}>"

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do but to wait for the operator."""
        return not self._gone and not self._is_requested

    def has_objects(self) -> bool:
        """Return whether there is anything to recreate."""
        return any(self._store.count(name) for name in self._resources)

    def observe(self, event: Event) -> None:
        """Take note of a write."""
        if event.resource not in self._resources:
            return
        uid = event.record.uid
        if event.type == "ADDED":
            self._manifests[uid] = event.record.decode()["metadata"]
        elif event.type == "DELETED" and uid in self._awaited:
            del self._awaited[uid]
            self._gone.append((event.resource, event.previous or event.record))
            self._wakeup.set()

    async def run(self) -> None:
        """Create objects again when they are gone, and recreate all of them on request."""
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            await self._create_gone()
            if self._is_requested:
                await self.recreate()
                self._is_requested = False

    def request(self) -> None:
        """Recreate every object soon."""
        self._is_requested = True
        self._wakeup.set()

    async def recreate(self) -> None:
        """Delete every object of a user, and create those again that are gone at once."""
        for resource, record in list(self._objects()):
            path = self._path(resource, record)
            self._awaited[record.uid] = path
            await self._transport.request(Request("DELETE", path))
        await self._create_gone()

    def _objects(self) -> Iterator[tuple[str, Record]]:
        for resource in self._resources:
            for record in self._store.list(resource).records:
                if not record.is_deleting and not record.owner_uids:
                    yield resource, record

    async def _create_gone(self) -> None:
        while self._gone:
            resource, record = self._gone[0]
            collection = self._path(resource, record).rpartition("/")[0]
            body = msgspec.json.encode(self._manifest(record))
            response = await self._transport.request(Request("POST", collection, _JSON, body))
            del self._gone[0]
            if response.status == _CREATED:
                created = msgspec.json.decode(response.body)
                self._cluster.user.successors[record.uid] = created["metadata"]["uid"]

    def _manifest(self, record: Record) -> JsonObject:
        """Return an object as its user would create it: with its present spec, without what the operator added."""
        document = {key: value for key, value in record.decode().items() if key != "status"}
        first, now = self._manifests.get(record.uid, {}), document["metadata"]
        document["metadata"] = {"name": now["name"]}
        if now.get("namespace"):
            document["metadata"]["namespace"] = now["namespace"]
        for field in ("labels", "annotations", "finalizers"):
            if first.get(field):
                document["metadata"][field] = first[field]
        return document

    def _path(self, resource: str, record: Record) -> str:
        kind = self._resources[resource]
        api_version = record.decode()["apiVersion"]
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        namespace = f"/namespaces/{record.namespace}" if record.namespace else ""
        return f"{root}{namespace}/{kind.plural}/{record.name}"

    def _forget(self, path: str) -> None:
        """Leave an object deleted: the scenario deletes it, too."""
        name = path.split("/")[-3:]
        self._awaited = {uid: known for uid, known in self._awaited.items() if known.split("/")[-3:] != name}
