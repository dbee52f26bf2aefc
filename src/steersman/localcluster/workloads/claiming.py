"""Adopts objects that a workload's selector matches and that have no controller, and releases the others."""

from collections.abc import Callable
from typing import Any, TypeVar

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.informer.changes import Change, Updated, record_of
from steersman.json_types import JsonObject
from steersman.objects.meta import OwnerReference
from steersman.objects.resource import KubeObject
from steersman.objects.selectors import LabelSelector

O = TypeVar("O", bound=KubeObject)  # noqa: E741 - the owner
C = TypeVar("C", bound=KubeObject)


async def claimed(owner: O, ctx: Context[O], kind: type[C], selector: LabelSelector, *, finalizer: str = "") -> list[C]:
    """Return the objects of a kind that an owner controls, after it adopted and released what it has to.

    An owner that is being deleted adopts nothing. Adopted objects get the finalizer.
    """
    mine = []
    for child in ctx.owned(kind):
        if selector.matches(child.labels) or child.is_deleting:
            mine.append(child)
        else:
            await _set_owners(child, ctx, [one for one in child.metadata.owner_references if one.uid != owner.uid])
    if not selector or owner.is_deleting:
        return mine
    for orphan in ctx.orphans(kind, selector):
        if not orphan.is_deleting:
            others = [one for one in orphan.metadata.owner_references if one.uid != owner.uid]
            kept = orphan.metadata.finalizers
            if finalizer and finalizer not in kept:
                kept = [*kept, finalizer]
            mine.append(await _set_owners(orphan, ctx, [*others, owner.owner_reference()], kept))
    return mine


def orphans(kind: type[C], selects: Callable[[O, C], bool]) -> Chosen[O, C]:
    """Return the trigger of owners by their orphans: objects without a controller that their selector matches."""
    return Chosen(kind, by=selects, when=_concerns_orphan)


def _concerns_orphan(change: Change) -> bool:
    if isinstance(change, Updated) and change.old.controller is None:
        return True
    return record_of(change).controller is None


async def _set_owners(
    child: C, ctx: Context[Any], owners: list[OwnerReference], finalizers: list[str] | None = None
) -> C:
    metadata: JsonObject = {
        "uid": child.uid,
        "resourceVersion": child.resource_version,
        "ownerReferences": owners,
    }
    if finalizers is not None and finalizers != child.metadata.finalizers:
        metadata["finalizers"] = finalizers
    return await ctx.patch(child, {"metadata": metadata})
