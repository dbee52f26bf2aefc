"""An operator for a separate process: after a restart it makes an additional write, late."""

from steersman import Context, Operator
from steersman.kinds.core_v1 import ConfigMap

operator = Operator("late-writing")
operator.permit(ConfigMap, "patch")
#: Objects that this process has seen so far.
seen: set[str] = set()


@operator.reconciler(ConfigMap)
async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Stamp the object; if another process has, write once more after a while."""
    if config_map.name != "note":
        return
    if not config_map.data:
        seen.add("mine")
        await ctx.patch(config_map, {"data": {"stamp": "seen"}})
    elif not seen:
        seen.add("by another process")
        ctx.requeue_after(0.5)
    elif "mine" not in seen:
        await ctx.patch(config_map, {"data": {"late": "yes"}})
