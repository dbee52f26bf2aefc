"""Disks of members: grow them if their storage class allows it, and delete them with their members if wanted."""

from collections.abc import Iterable

from steersman import Context, Quantity
from steersman.errors import ApiError
from steersman.kinds.core_v1 import PersistentVolumeClaim, Pod

from mgors.api.mgors_v1 import Mgors
from mgors.objects import disk_size

_CONDITION = "StorageAsAskedFor"


async def delete_disks(mgors: Mgors, ctx: Context[Mgors], numbers: Iterable[int]) -> None:
    """Delete the disks of removed members after their pods, if ``retain`` is Delete."""
    if mgors.spec.storage is None or mgors.spec.storage.retain != "Delete":
        return
    for number in numbers:
        if await ctx.get(Pod, f"{mgors.name}-{number}") is None:
            claim = await ctx.get(PersistentVolumeClaim, _name(mgors, number))
            if claim is not None and not claim.is_deleting:
                await ctx.delete(claim)


async def grow_disks(mgors: Mgors, ctx: Context[Mgors], members: int) -> None:
    """Resize the claims of members to the wanted size, and report those that cannot be resized.

    A StatefulSet cannot change its existing claims, nor their template.
    """
    wanted = disk_size(mgors)
    problem = ""
    for number in range(members):
        claim = await ctx.get(PersistentVolumeClaim, _name(mgors, number))
        if claim is not None and not claim.is_deleting:
            problem = problem or await _grow(claim, wanted, ctx)
    if ctx.condition(_CONDITION, not problem, "ResizeRefused" if problem else "AsAskedFor", problem) and problem:
        ctx.event("ResizeRefused", problem, kind="Warning")


async def _grow(claim: PersistentVolumeClaim, wanted: Quantity, ctx: Context[Mgors]) -> str:
    """Resize one claim; return the problem, if any."""
    resources = claim.spec.resources
    now = Quantity((resources.requests or {}).get("storage", wanted) if resources else wanted)
    if now == wanted:
        return ""
    if now > wanted:
        return f"spec.storage.size: {claim.name} has {now}, and a volume cannot shrink to {wanted}"
    try:
        await ctx.client.patch(claim, {"spec": {"resources": {"requests": {"storage": str(wanted)}}}})
    except ApiError as error:
        return f"spec.storage.size: {claim.name} has {now} and cannot grow to {wanted}: {error}"
    return ""


def _name(mgors: Mgors, number: int) -> str:
    return f"data-{mgors.name}-{number}"
