"""Keeps the ControllerRevisions of a StatefulSet or DaemonSet, so that one can go back to its templates."""

from collections.abc import Callable
from typing import TypeVar

from steersman.controller.context import Context
from steersman.errors import AlreadyExists, Retry
from steersman.kinds.apps_v1 import ControllerRevision, DaemonSet, StatefulSet
from steersman.localcluster.workloads.claiming import claimed
from steersman.localcluster.workloads.pods import selector_of
from steersman.localcluster.workloads.template_hash import canonical
from steersman.localcluster.workloads.template_revisions import Revisions, new_revision, template_of

S = TypeVar("S", bound=StatefulSet | DaemonSet)

#: Default number of old revisions that are kept.
_DEFAULT_LIMIT = 10


async def synced_revisions(owner: S, ctx: Context[S], *, hash_label: str) -> Revisions:
    """Return the revisions after the present template has become the newest of them.

    A template that was there before gets the next number: that is what a rollback is.
    """
    known = Revisions(await claimed(owner, ctx, ControllerRevision, selector_of(owner.spec.selector)))
    wanted = canonical(owner.spec.template)
    same = [one for one in known.all if canonical(template_of(one)) == wanted]
    number = known.update.revision + 1 if known.all else 1
    if not same:
        return Revisions([*known.all, await _created(owner, ctx, new_revision(owner, number, hash_label))])
    newest = same[-1]
    if newest.uid == known.update.uid:
        return known
    newest.revision = number
    moved = await ctx.update(newest)
    return Revisions([*(one for one in known.all if one.uid != moved.uid), moved])


async def _created(owner: S, ctx: Context[S], wanted: ControllerRevision) -> ControllerRevision:
    try:
        return await ctx.create(wanted)
    except AlreadyExists:
        found = await ctx.client.try_get(ControllerRevision, wanted.name, owner.namespace)
    if found is not None and canonical(template_of(found)) == canonical(owner.spec.template):
        # Our own: the answer to its creation was lost.
        return found
    owner.status.collision_count = (owner.status.collision_count or 0) + 1
    raise Retry(f"the name {wanted.name} is taken")


async def forget_revisions(
    owner: S, revisions: Revisions, ctx: Context[S], *, is_used: Callable[[ControllerRevision], bool]
) -> None:
    """Delete the oldest revisions beyond the limit; those in use do not count."""
    limit = owner.spec.revision_history_limit
    spare = [one for one in revisions.all if not is_used(one)]
    for one in spare[: max(len(spare) - (_DEFAULT_LIMIT if limit is None else limit), 0)]:
        await ctx.delete(one)
