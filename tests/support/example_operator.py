"""An operator that uses most features, for derived manifests."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.controller.triggers import Watch
from steersman.kinds.core_v1 import ConfigMap, Secret, ServiceAccount


class FleetSpec(Model):
    """The desired state."""

    size: int = 1


class FleetStatus(Status):
    """The observed state."""

    size: int = 0


@custom_resource("fleet.example.com/v1")
class Fleet(Resource[FleetSpec, FleetStatus]):
    """Some ships."""


operator = Operator("fleet")
operator.permit(Secret, "get")


@operator.reconciler(Fleet, owns=[ConfigMap], watches=[Watch(ServiceAccount, to=lambda _: [])])
async def reconcile(fleet: Fleet, ctx: Context[Fleet]) -> None:
    """Use every way to read and write."""
    await ctx.get(Secret, "unwatched")
    await ctx.apply(ConfigMap(meta("applied"), data={"size": str(fleet.spec.size)}))
    created = await ctx.get(ConfigMap, "created")
    if created is None and fleet.spec.size:
        await ctx.create(ConfigMap(meta("created")))
    if created is not None and not fleet.spec.size:
        await ctx.delete(created)
    ctx.event("Sailing", "on the way")
    fleet.status.size = fleet.spec.size


@reconcile.cleanup
async def cleanup(fleet: Fleet, ctx: Context[Fleet]) -> None:
    """Have a finalizer."""
