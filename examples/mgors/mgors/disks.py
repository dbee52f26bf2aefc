"""What becomes of the disks of members that are gone."""

from collections.abc import Iterable

from steersman import Context
from steersman.kinds.core_v1 import PersistentVolumeClaim, Pod

from mgors.api.mgors_v1 import Mgors


async def drop_disks(mgors: Mgors, ctx: Context[Mgors], numbers: Iterable[int]) -> None:
    """Delete the disks of these members, where that is asked for; not before their pods are gone."""
    if mgors.spec.storage is None or mgors.spec.storage.retain != "Delete":
        return
    for number in numbers:
        if await ctx.get(Pod, f"{mgors.name}-{number}") is None:
            claim = await ctx.get(PersistentVolumeClaim, f"data-{mgors.name}-{number}")
            if claim is not None and not claim.is_deleting:
                await ctx.delete(claim)
