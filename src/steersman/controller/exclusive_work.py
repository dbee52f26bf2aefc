"""`ExclusiveWork`: long work that one object at a time may do, such as the backups and restores of one database.

A Lease names the object that works. It does not expire, because a slow holder must not be overtaken: time proves
nothing about work in another system. The Lease of an object that was deleted, was created again, or has ended is free,
so a holder that died without cleanup blocks nothing. An operator that crashes continues, because its object still holds
the Lease.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from steersman.controller.context import Context
from steersman.errors import AlreadyExists, Conflict
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.objects.meta import meta
from steersman.objects.resource import KubeObject

H = TypeVar("H", bound=KubeObject)


class ExclusiveWork(Generic[H]):
    """One piece of work at a time: ``ExclusiveWork("backup-shop", [Backup, Restore], lambda one: one.is_running)``.

    ``kinds`` are those of the objects that may hold the Lease; ``is_running`` says whether such an object, as the
    server has it, has neither ended nor failed. Permit the operator to get, create and delete Leases.
    """

    def __init__(self, name: str, kinds: "list[type[H]]", is_running: Callable[[H], bool]) -> None:
        self.name = name
        self._kinds: dict[str, type[H]] = {kind.__name__: kind for kind in kinds}
        self._is_running = is_running

    def __repr__(self) -> str:
        return f"<ExclusiveWork {self.name}>"

    async def try_begin(self, obj: H, ctx: Context[Any]) -> bool:
        """Return whether an object may work: acquire the Lease unless another object that is running holds it."""
        lease = await ctx.client.try_get(Lease, self.name, obj.namespace)
        if lease is not None:
            if lease.spec.holder_identity == _identity(obj):
                return True
            if await self._holder(lease, ctx) is not None:
                return False
        try:
            if lease is not None:
                await ctx.client.delete(lease, missing_ok=True)  # only this one, not its successor
            spec = LeaseSpec(holder_identity=_identity(obj))
            await ctx.client.create(Lease(meta(self.name, namespace=obj.namespace), spec=spec))
        except (AlreadyExists, Conflict):
            return False
        return True

    async def end(self, obj: H, ctx: Context[Any]) -> None:
        """Release the Lease, if this object holds it. Store in the object that it has ended before."""
        lease = await ctx.client.try_get(Lease, self.name, obj.namespace)
        if lease is not None and lease.spec.holder_identity == _identity(obj):
            await ctx.client.delete(lease, missing_ok=True)

    async def holder(self, ctx: Context[Any], namespace: str) -> H | None:
        """Return the object that works now, if any."""
        lease = await ctx.client.try_get(Lease, self.name, namespace)
        return await self._holder(lease, ctx) if lease is not None else None

    async def _holder(self, lease: Lease, ctx: Context[Any]) -> H | None:
        kind, _, rest = (lease.spec.holder_identity or "").partition("/")
        name, _, uid = rest.partition("/")
        if kind not in self._kinds:
            return None
        found = await ctx.client.try_get(self._kinds[kind], name, lease.namespace)
        is_held = found is not None and found.uid == uid and not found.is_deleting and self._is_running(found)
        return found if is_held else None


def _identity(obj: KubeObject) -> str:
    return f"{type(obj).__name__}/{obj.name}/{obj.uid}"
