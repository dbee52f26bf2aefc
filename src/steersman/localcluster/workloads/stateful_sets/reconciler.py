"""StatefulSets: pods with ordinals, created, replaced and deleted in order."""

from typing import Any

from steersman.controller.context import Context
from steersman.controller.triggers import Watch
from steersman.kinds.apps_v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from steersman.kinds.core_v1 import PersistentVolumeClaim, Pod
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.controller_revisions import forget_revisions, synced_revisions
from steersman.localcluster.workloads.pods import is_available, is_ready, next_available, selector_of
from steersman.localcluster.workloads.stateful_sets.plan import Create, Delete, StatefulSetState, next_steps
from steersman.localcluster.workloads.stateful_sets.pods import (
    REVISION_LABEL,
    claim_owners,
    claims_of,
    ordinal_of,
    stateful_pod,
)
from steersman.localcluster.workloads.template_revisions import Revisions
from steersman.manager.operator import Operator

operator = Operator("statefulset-controller")
operator.permit(PersistentVolumeClaim, "create", "patch")
_HASH = "controller.kubernetes.io/hash"


def _selects(stateful_set: StatefulSet, child: Any) -> bool:
    return selector_of(stateful_set.spec.selector).matches(child.labels)


def _no_keys(_claim: PersistentVolumeClaim) -> list[str]:
    return []


@operator.reconciler(
    StatefulSet,
    owns=[Pod, ControllerRevision],
    # Claims are read from a cache; their changes do not trigger a reconcile.
    watches=[orphans(Pod, _selects), Watch(PersistentVolumeClaim, to=_no_keys)],
    workers=2,
)
async def reconcile(stateful_set: StatefulSet, ctx: Context[StatefulSet]) -> None:
    """Take the steps that are possible now, and count."""
    revisions = await synced_revisions(stateful_set, ctx, hash_label=_HASH)
    mine = await claimed(stateful_set, ctx, Pod, selector_of(stateful_set.spec.selector))
    numbered = ((ordinal_of(stateful_set, pod.name), pod) for pod in mine)
    pods = {number: pod for number, pod in numbered if number is not None}
    current = revisions.named(stateful_set.status.current_revision) or revisions.update
    situation = StatefulSetState(
        stateful_set=stateful_set, pods=pods, current=current.name, update=revisions.update.name, now=ctx.now()
    )
    await _keep_claims(stateful_set, pods, ctx)
    for step in next_steps(situation):
        await _take(step, stateful_set, revisions, ctx)
    stateful_set.status = status_of(situation)
    kept = stateful_set.status.current_revision
    used = {kept, revisions.update.name, *(pod.labels.get(REVISION_LABEL) for pod in pods.values())}
    await forget_revisions(stateful_set, revisions, ctx, is_used=lambda one: one.name in used)
    wait = next_available(pods.values(), stateful_set.spec.min_ready_seconds, situation.now)
    if wait is not None:
        ctx.requeue_after(wait)


async def _take(
    step: Create | Delete, stateful_set: StatefulSet, revisions: Revisions, ctx: Context[StatefulSet]
) -> None:
    place = f"in StatefulSet {stateful_set.name}"
    match step:
        case Create(ordinal, name):
            revision = revisions.named(name) or revisions.update
            pod = stateful_pod(stateful_set, revision, ordinal)
            for claim in claims_of(stateful_set, ordinal):
                if await ctx.get(PersistentVolumeClaim, claim.name) is None:
                    claim.metadata.owner_references = claim_owners(stateful_set, None, ordinal, [])
                    await ctx.create(claim, owned=False)
                    ctx.event("SuccessfulCreate", f"Create Claim {claim.name} Pod {pod.name} {place} success")
            await ctx.create(pod)
            ctx.event("SuccessfulCreate", f"Create Pod {pod.name} {place} successful")
        case Delete(pod, has_failed):
            if has_failed:
                text = f"StatefulSet {stateful_set.namespace}/{stateful_set.name} is recreating failed Pod {pod.name}"
                ctx.event("RecreatingFailedPod", text, kind="Warning")
            await ctx.delete(pod)
            ctx.event("SuccessfulDelete", f"Delete Pod {pod.name} {place} successful")


async def _keep_claims(stateful_set: StatefulSet, pods: dict[int, Pod], ctx: Context[StatefulSet]) -> None:
    """Return the claims of all pods the owners that the retention policy asks for."""
    for ordinal, pod in pods.items():
        for wanted in claims_of(stateful_set, ordinal):
            claim = await ctx.get(PersistentVolumeClaim, wanted.name)
            if claim is not None and not claim.is_deleting:
                present = claim.metadata.owner_references
                claim.metadata.owner_references = claim_owners(stateful_set, pod, ordinal, present)
                await ctx.update(claim)


def status_of(situation: StatefulSetState) -> StatefulSetStatus:
    """Return the status of a StatefulSet as observed, without the changes of this run."""
    stateful_set = situation.stateful_set
    pods = list(situation.pods.values())
    current, update = situation.current, situation.update
    seconds = stateful_set.spec.min_ready_seconds
    alive = [pod for pod in pods if not pod.is_deleting]
    updated = sum(pod.labels.get(REVISION_LABEL) == update for pod in alive)
    kept = sum(pod.labels.get(REVISION_LABEL) == current for pod in alive)
    ready = sum(is_ready(pod) for pod in pods)
    wanted = len(situation.wanted)
    strategy = stateful_set.spec.update_strategy
    is_rolling = strategy is None or strategy.type != "OnDelete"
    if is_rolling and updated == ready == len(pods) == wanted:
        current, kept = update, updated
    return StatefulSetStatus(
        replicas=len(pods),
        ready_replicas=ready or None,
        available_replicas=sum(is_available(pod, seconds, situation.now) for pod in pods),
        current_replicas=kept or None,
        updated_replicas=updated or None,
        current_revision=current,
        update_revision=update,
        collision_count=stateful_set.status.collision_count or 0,
        observed_generation=stateful_set.metadata.generation,
    )
