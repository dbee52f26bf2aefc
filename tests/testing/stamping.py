"""An operator for a separate process: it stamps ConfigMaps."""

from steersman import Context, Operator
from steersman.kinds.core_v1 import ConfigMap

operator = Operator("stamping")


@operator.reconciler(ConfigMap)
async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Stamp the object."""
    if config_map.name == "note" and not config_map.data:
        await ctx.patch(config_map, {"data": {"stamp": "seen"}})
