"""An operator for a process of its own: it stamps config maps."""

from steersman import Context, Operator
from steersman.kinds.core_v1 import ConfigMap

operator = Operator("stamping")


@operator.reconciler(ConfigMap)
async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Stamp it."""
    if config_map.name == "note" and not config_map.data:
        await ctx.patch(config_map, {"data": {"stamp": "seen"}})
