"""The answers of several replicas as one: what each of them knows of an object, and of the whole operator.

Replicas share a Lease. Each of them caches all objects, but only one reconciles an object at a time: the one that
leads, or that works on the object's shard. The state of an object is what that replica says. Runs are those of all
replicas, because a shard moves. A replica that does not answer may be the one that works: then no answer is about the
next run.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from steersman.history.records import KeyPhase, ObjectView, ReplicaRecord
from steersman.history.state import CacheState, ControllerState, LeadershipState, ObjectSummary, Overview, WebhookState

T = TypeVar("T")

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def merged_view(views: Sequence[ObjectView]) -> ObjectView:
    """Return what replicas know of an object; of unrelated operators, what the one with the most runs knows."""
    groups: dict[object, list[ObjectView]] = {}
    for number, view in enumerate(views):
        # Processes without an election do not know of each other.
        shared = number if view.replica is None else view.replica.lease
        groups.setdefault((view.object, view.cluster, shared), []).append(view)
    merged = map(_merged_replicas, groups.values())
    best = max(merged, key=lambda one: (len(one.reconciles), one.exists))
    reviews = [review for view in views if view.object == best.object for review in view.reviews]
    return replace(best, reviews=tuple(sorted(reviews, key=lambda one: one.started)))


def _merged_replicas(views: Sequence[ObjectView]) -> ObjectView:
    best = max(views, key=lambda one: (_is_working(one.replica), one.exists, _last_run(one)))
    runs = [run for view in views for run in view.reconciles]
    return replace(best, reconciles=tuple(sorted(runs, key=lambda one: one.started)))


def _is_working(replica: ReplicaRecord | None) -> bool:
    return replica is not None and replica.is_working


def _last_run(view: ObjectView) -> datetime:
    return view.reconciles[-1].started if view.reconciles else _LONG_AGO


def merged_summaries(answers: Iterable[Sequence[ObjectSummary]]) -> list[ObjectSummary]:
    """Return every object once, as the replica sees it that reconciles it."""
    found: dict[object, ObjectSummary] = {}
    for summary in (one for answer in answers for one in answer):
        known = found.get(summary.object)
        if known is None or (known.is_foreign and not summary.is_foreign):
            found[summary.object] = summary
    return list(found.values())


def merged_overviews(answers: Sequence[tuple[Overview, T]]) -> list[tuple[Overview, list[T]]]:
    """Return one overview for the replicas of each operator, with what else each of them answered."""
    groups: dict[object, list[tuple[Overview, T]]] = {}
    for number, (overview, other) in enumerate(answers):
        shared = number if overview.leadership is None else overview.leadership.lease
        groups.setdefault((overview.operators, overview.cluster, shared), []).append((overview, other))
    return [(merged_overview([one for one, _ in group]), [other for _, other in group]) for group in groups.values()]


def merged_overview(overviews: Sequence[Overview]) -> Overview:
    """Return the state of all replicas of an operator."""
    if len(overviews) == 1:
        return overviews[0]
    return replace(
        overviews[0],
        started=min(one.started for one in overviews),
        leadership=_leadership([one.leadership for one in overviews if one.leadership is not None]),
        replicas=sum(one.replicas for one in overviews),
        controllers=tuple(map(_controller, _by_name(one.controllers for one in overviews).values())),
        caches=tuple(map(_cache, _by_scope(one.caches for one in overviews).values())),
        webhooks=tuple(map(_webhook, _by_webhook(one.webhooks for one in overviews).values())),
        remembered=sum(one.remembered for one in overviews),
        remembered_bytes=sum(one.remembered_bytes for one in overviews),
    )


def _leadership(states: Sequence[LeadershipState]) -> LeadershipState | None:
    if not states:
        return None
    best = max(states, key=lambda one: one.is_leader)
    return replace(best, shards=tuple(sorted({shard for one in states for shard in one.shards})))


def _by_name(states: Iterable[Iterable[ControllerState]]) -> Mapping[str, list[ControllerState]]:
    found: dict[str, list[ControllerState]] = {}
    for state in (one for some in states for one in some):
        found.setdefault(state.name, []).append(state)
    return found


def _controller(states: Sequence[ControllerState]) -> ControllerState:
    keys: dict[KeyPhase, int] = {}
    for phase, count in (item for one in states for item in one.keys.items()):
        keys[phase] = keys.get(phase, 0) + count
    return replace(
        states[0],
        workers=sum(one.workers for one in states),
        keys=keys,
        failing=sum(one.failing for one in states),
        runs=sum(one.runs for one in states),
        failures=sum(one.failures for one in states),
    )


def _by_scope(states: Iterable[Iterable[CacheState]]) -> Mapping[object, list[CacheState]]:
    found: dict[object, list[CacheState]] = {}
    for state in (one for some in states for one in some):
        scope = (state.kind, state.api_version, state.namespaces, state.selector, state.is_metadata_only)
        found.setdefault(scope, []).append(state)
    return found


def _cache(states: Sequence[CacheState]) -> CacheState:
    """Return the worst of the caches that each replica has of the same objects."""
    return max(states, key=lambda one: (not one.is_synced, one.age or 0.0))


def _by_webhook(states: Iterable[Iterable[WebhookState]]) -> Mapping[str, list[WebhookState]]:
    found: dict[str, list[WebhookState]] = {}
    for state in (one for some in states for one in some):
        found.setdefault(state.webhook, []).append(state)
    return found


def _webhook(states: Sequence[WebhookState]) -> WebhookState:
    return replace(
        states[0],
        reviews=sum(one.reviews for one in states),
        denied=sum(one.denied for one in states),
        failed=sum(one.failed for one in states),
        slowest=max(one.slowest for one in states),
        last=max(one.last for one in states),
    )
