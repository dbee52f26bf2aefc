"""Finalizers: ours is there before the first side effect and goes last; those of others are never touched.

Adding and removing are patches that name the version they were computed from, so that a list of finalizers which was
changed meanwhile is a conflict and never overwritten.
"""

from typing import Any

from steersman.client.client import Client
from steersman.errors import Conflict, NotFound
from steersman.objects.resource import KubeObject

#: How often removing is tried again with a fresh object when somebody else changes it at the same time.
_TRIES = 5


def _patch(obj: KubeObject, finalizers: list[str]) -> dict[str, Any]:
    return {"metadata": {"finalizers": finalizers, "resourceVersion": obj.resource_version}}


async def add_finalizer(client: Client, obj: KubeObject, finalizer: str) -> KubeObject:
    """Add a finalizer; a ``Conflict`` means that the object changed since it was read."""
    return await client.patch(obj, _patch(obj, [*obj.metadata.finalizers, finalizer]))


async def is_cleanup_due(client: Client, obj: KubeObject, finalizer: str) -> bool:
    """Return whether the live object, not only the cached one, is being deleted and waits for this finalizer.

    A cache may be behind: the object may be gone, another one may have its name, or another process has cleaned up.
    """
    live = await _read_again(client, obj)
    return live is not None and live.is_deleting and finalizer in live.metadata.finalizers


async def remove_finalizer(client: Client, obj: KubeObject, finalizer: str) -> KubeObject | None:
    """Remove a finalizer; give the object as it is afterwards, ``None`` if it is gone."""
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


async def _read_again(client: Client, obj: KubeObject) -> KubeObject | None:
    fresh = await client.try_get(type(obj), obj.name, obj.namespace or None)
    # Another object of that name is none of our business.
    return fresh if fresh is not None and fresh.uid == obj.uid else None
