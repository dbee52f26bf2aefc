"""`Cascade`: deletes what a deleted owner leaves behind, as the garbage collector of a cluster does.

It only knows objects that the plan has read: at least those of the kinds that the operator watches. An owner that is
not in the shadow may exist in the cluster, so an object is deleted only if this plan has deleted every owner.
"""

from typing import Final

from steersman.apiserver.storage.record import Record
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.planning.changes import Place
from steersman.planning.shadow import Shadow, metadata_of
from steersman.protocol.http import Request

_FOREGROUND: Final = "foregroundDeletion"
_JSON: Final = {"accept": "application/json", "content-type": "application/json"}
_MERGE: Final = {"accept": "application/json", "content-type": "application/merge-patch+json"}


class Cascade:
    """Deletes dependents in the shadow."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._gone: set[str] = set()

    async def run(self) -> None:
        """Delete the dependents of everything that was deleted since the last call, and their dependents."""
        log = self._shadow.log
        while log.removed:
            uid = log.removed.pop()
            self._gone.add(uid)
            for resource, record in self._shadow.server.objects.store.dependents_of(uid):
                if not record.is_deleting and self._gone.issuperset(record.owner_uids):
                    await self._delete(Place(resource, record.namespace, record.name), record)

    async def begin_foreground(self, place: Place) -> None:
        """Delete the dependents of an object that waits for them, then the object itself."""
        record = self._shadow.record(place)
        if record is None or not record.is_deleting:
            return
        finalizers = metadata_of(record.decode()).get("finalizers") or []
        if _FOREGROUND not in finalizers:
            return
        for resource, dependent in self._shadow.server.objects.store.dependents_of(record.uid):
            if not dependent.is_deleting:
                await self._delete(Place(resource, dependent.namespace, dependent.name), dependent)
        rest = [name for name in finalizers if name != _FOREGROUND]
        await self._send("PATCH", place, _MERGE, {"metadata": {"finalizers": rest}})

    async def _delete(self, place: Place, record: Record) -> None:
        self._shadow.log.cascades.add(place)
        await self._send("DELETE", place, _JSON, {"preconditions": {"uid": record.uid}})

    async def _send(self, method: str, place: Place, headers: dict[str, str], body: JsonObject) -> None:
        served = self._shadow.resource(place.resource)
        if served is not None:
            path = self._shadow.path(served, place)
            await self._shadow.transport.request(Request(method, path, headers, encode_json(body)))
