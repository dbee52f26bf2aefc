"""Deployments: one ReplicaSet for each template they had, and a rollout from the old ones to the new one."""

from collections.abc import Iterable
from typing import Any

from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.errors import AlreadyExists, Retry
from steersman.informer.changes import Change, Deleted
from steersman.kinds.apps_v1 import Deployment, ReplicaSet
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.deployments import status as judging
from steersman.localcluster.workloads.deployments.revisions import (
    REVISION,
    annotate,
    annotate_size,
    find_new,
    new_replica_set,
    next_revision,
    replicas_of,
    revision_of,
)
from steersman.localcluster.workloads.deployments.rolling import (
    Resize,
    is_rolling,
    is_scaled,
    max_replicas,
    new_size,
    old_sizes,
    scaled_sizes,
)
from steersman.localcluster.workloads.pods import is_finished, selector_of
from steersman.manager.operator import Operator

operator = Operator("deployment-controller")


def _selects(deployment: Deployment, child: Any) -> bool:
    return selector_of(deployment.spec.selector).matches(child.labels)


def _waits_for(deployment: Deployment, pod: object) -> bool:
    return not is_rolling(deployment) and _selects(deployment, pod)


def _is_gone(change: Change) -> bool:
    return isinstance(change, Deleted)


@operator.reconciler(
    Deployment,
    owns=[ReplicaSet],
    # With Recreate, new pods are created when the last old one is gone.
    watches=[orphans(ReplicaSet, _selects), Chosen(Pod, by=_waits_for, when=_is_gone)],
    while_deleting=True,
    workers=2,
)
async def reconcile(deployment: Deployment, ctx: Context[Deployment]) -> None:
    """Take the next step of a rollout, and update the status."""
    selector = selector_of(deployment.spec.selector)
    rollout = _Rollout(deployment, await claimed(deployment, ctx, ReplicaSet, selector), ctx)
    judging.judge_pausing(deployment, deployment.status, ctx.now())
    if not deployment.is_deleting:
        await rollout.step()
    rollout.tell()


class _Rollout:
    """One step of one Deployment."""

    def __init__(self, deployment: Deployment, replica_sets: Iterable[ReplicaSet], ctx: Context[Deployment]) -> None:
        self._deployment = deployment
        self._ctx = ctx
        replica_sets = list(replica_sets)
        self._new = find_new(deployment, replica_sets)
        self._old = [one for one in replica_sets if self._new is None or one.uid != self._new.uid]

    @property
    def _all(self) -> list[ReplicaSet]:
        return [*self._old, *([self._new] if self._new is not None else [])]

    async def step(self) -> None:
        """Do what can be done now; the changes that this causes trigger the next step."""
        deployment = self._deployment
        if self._new is not None:
            await self._number(self._new)
        if deployment.spec.paused:
            await self._resize(scaled_sizes(deployment, self._old, self._new))
            await self._forget_history()
        elif is_scaled(deployment, self._all):
            await self._resize(scaled_sizes(deployment, self._old, self._new))
        elif is_rolling(deployment):
            await self._roll()
        else:
            await self._recreate()

    def tell(self) -> None:
        """Write the status of the rollout, and requeue for its deadline."""
        deployment, now = self._deployment, self._ctx.now()
        status = judging.counted(deployment, self._all, self._new)
        judging.judge_availability(deployment, status, now)
        if not deployment.spec.paused:
            judging.judge_progress(deployment, status, self._new, now)
        judging.judge_failure(status, self._all, self._new)
        deployment.status = status
        wait = judging.seconds_to_deadline(deployment, status, now)
        if wait is not None:
            self._ctx.requeue_after(max(wait, 0.0) + 1.0)

    # Strategies.

    async def _roll(self) -> None:
        new = self._new if self._new is not None else await self._create()
        size = new_size(self._deployment, self._all, new)
        if size != replicas_of(new):
            await self._resize([Resize(new, size)])
            return
        shrinking = old_sizes(self._deployment, self._old, new)
        await self._resize(shrinking)
        if not shrinking:
            await self._clean_up()

    async def _recreate(self) -> None:
        surplus = [Resize(one, 0) for one in self._old if replicas_of(one)]
        if surplus:
            await self._resize(surplus)
            return
        if await self._has_old_pods():
            return
        new = self._new if self._new is not None else await self._create()
        await self._resize([Resize(new, replicas_of(self._deployment))])
        await self._clean_up()

    async def _has_old_pods(self) -> bool:
        new = self._new.uid if self._new is not None else ""
        pods = await self._ctx.list(Pod, selector_of(self._deployment.spec.selector))
        return any(not is_finished(pod) and pod.controller is not None and pod.controller.uid != new for pod in pods)

    # Parts.

    async def _create(self) -> ReplicaSet:
        deployment, ctx = self._deployment, self._ctx
        size = new_size(deployment, self._all, None)
        wanted = new_replica_set(deployment, next_revision(self._old), size, max_replicas(deployment))
        try:
            new = await ctx.create(wanted)
        except AlreadyExists:
            new = await self._taken(wanted.name)
        self._new = new
        if judging.deadline_of(deployment) is not None:
            text = f'Created new replica set "{new.name}"'
            judging.set_condition(
                deployment.status, judging.PROGRESSING, "True", "NewReplicaSetCreated", text, now=ctx.now()
            )
        if size:
            ctx.event("ScalingReplicaSet", f"Scaled up replica set {new.name} from 0 to {size}")
        await self._note_revision(new)
        return new

    async def _taken(self, name: str) -> ReplicaSet:
        """Return the ReplicaSet that has a name already, if it is our own: the answer to its creation was lost."""
        deployment = self._deployment
        found = await self._ctx.client.try_get(ReplicaSet, name, deployment.namespace)
        is_own = found is not None and found.controller is not None and found.controller.uid == deployment.uid
        if found is None or not is_own or find_new(deployment, [found]) is None:
            # The name belongs to another template: the next try makes another name.
            deployment.status.collision_count = (deployment.status.collision_count or 0) + 1
            raise Retry(f"the name {name} is taken")
        return found

    async def _number(self, new: ReplicaSet) -> None:
        """Make the new ReplicaSet the newest revision; after a rollback it had an old number."""
        deployment, ctx = self._deployment, self._ctx
        annotate(new, deployment, next_revision(self._old))
        new.spec.min_ready_seconds = deployment.spec.min_ready_seconds
        self._new = await ctx.update(new)
        told = judging.condition_of(deployment.status, judging.PROGRESSING)
        if told is None and judging.deadline_of(deployment) is not None:
            text = f'Found new replica set "{new.name}"'
            judging.set_condition(
                deployment.status, judging.PROGRESSING, "True", "FoundNewReplicaSet", text, now=ctx.now()
            )
        await self._note_revision(self._new)

    async def _note_revision(self, new: ReplicaSet) -> None:
        number = str(revision_of(new))
        if self._deployment.annotations.get(REVISION) != number:
            patch = {"metadata": {"uid": self._deployment.uid, "annotations": {REVISION: number}}}
            # Together with the status: annotations that are written with the spec make another generation.
            await self._ctx.patch(self._deployment, patch, status=True)
            self._deployment.annotations[REVISION] = number

    async def _resize(self, sizes: list[Resize]) -> None:
        for replica_set, size in sizes:
            before = replicas_of(replica_set)
            replica_set.spec.replicas = size
            annotate_size(replica_set, replicas_of(self._deployment), max_replicas(self._deployment))
            updated = await self._ctx.update(replica_set)
            self._replace(updated)
            if size != before:
                direction = "up" if size > before else "down"
                text = f"Scaled {direction} replica set {replica_set.name} from {before} to {size}"
                self._ctx.event("ScalingReplicaSet", text)

    def _replace(self, updated: ReplicaSet) -> None:
        if self._new is not None and self._new.uid == updated.uid:
            self._new = updated
        self._old = [updated if one.uid == updated.uid else one for one in self._old]

    async def _clean_up(self) -> None:
        status = judging.counted(self._deployment, self._all, self._new)
        if judging.is_complete(self._deployment, status):
            await self._forget_history()

    async def _forget_history(self) -> None:
        """Delete the oldest revisions beyond the limit."""
        limit = self._deployment.spec.revision_history_limit
        if limit is None:
            return
        kept = [one for one in self._old if not one.is_deleting]
        for one in sorted(kept, key=revision_of)[: max(len(kept) - limit, 0)]:
            is_seen = one.generation <= (one.status.observed_generation or 0)
            if is_seen and one.status.replicas == 0 and replicas_of(one) == 0:
                await self._ctx.delete(one)
