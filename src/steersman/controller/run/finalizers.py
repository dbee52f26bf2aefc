"""Finalizers: ours is added before the first side effect and removed last; foreign ones are never touched.

Adding and removing are patches with the version that they were computed from, so that a list of finalizers that changed
meanwhile causes a conflict and is never overwritten.
"""

from steersman.client.interfaces import Reader, ReaderWriter, Writer
from steersman.errors import Conflict, NotFound
from steersman.json_types import JsonObject
from steersman.objects.resource import KubeObject

#: Attempts of removing with a fresh object while other writers change it.
_TRIES = 5


def _patch(obj: KubeObject, finalizers: list[str]) -> JsonObject:
    return {"metadata": {"finalizers": finalizers, "resourceVersion": obj.resource_version}}


async def add_finalizer(writer: Writer, obj: KubeObject, finalizer: str) -> KubeObject:
    """Add a finalizer; raise ``Conflict`` if the object changed since it was read."""
    return await writer.patch(obj, _patch(obj, [*obj.metadata.finalizers, finalizer]))


async def is_cleanup_due(reader: Reader, obj: KubeObject, finalizer: str) -> bool:
    """Return whether the object on the server, not only in the cache, is being deleted and has this finalizer.

    A cache may be behind: the object may be deleted, another one may have its name, or another process has cleaned up.
    """
    live = await _read_again(reader, obj)
    return live is not None and live.is_deleting and finalizer in live.metadata.finalizers


async def remove_finalizer(client: ReaderWriter, obj: KubeObject, finalizer: str) -> KubeObject | None:
    """Remove a finalizer; return the object afterwards, ``None`` if it does not exist any more."""
    current = obj
    for _ in range(_TRIES):
        rest = [name for name in current.metadata.finalizers if name != finalizer]
        if len(rest) == len(current.metadata.finalizers):
            return current
        try:
            return await client.patch(current, _patch(current, rest))
        except NotFound:
            return None
        except Conflict:
            fresh = await _read_again(client, current)
            if fresh is None:
                return None
            current = fresh
    raise Conflict(f"could not remove finalizer {finalizer!r}: {obj!r} keeps changing", code=409, reason="Conflict")


async def _read_again(reader: Reader, obj: KubeObject) -> KubeObject | None:
    fresh = await reader.try_get(type(obj), obj.name, obj.namespace or None)
    # A later object of the same name is a different one.
    return fresh if fresh is not None and fresh.uid == obj.uid else None
