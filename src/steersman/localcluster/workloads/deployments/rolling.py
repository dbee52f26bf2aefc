"""How far a rollout may go in one step: sizes of ReplicaSets, given those of all. Pure.

Every step keeps two promises: no more pods than ``replicas + maxSurge``, and no fewer available ones than ``replicas -
maxUnavailable``.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from steersman.kinds.apps_v1 import Deployment, ReplicaSet
from steersman.localcluster.workloads.deployments.revisions import DESIRED, MAXIMUM, by_age, noted, replicas_of
from steersman.objects.int_or_string import IntOrString, scaled

_DEFAULT: IntOrString = "25%"


class Limits(NamedTuple):
    """How far a rollout may deviate from the number of replicas."""

    surge: int
    unavailable: int


class Resize(NamedTuple):
    """A ReplicaSet and the size that it shall have."""

    replica_set: ReplicaSet
    size: int


def is_rolling(deployment: Deployment) -> bool:
    """Return whether old pods make room one after another, and not all at once."""
    strategy = deployment.spec.strategy
    return strategy is None or strategy.type != "Recreate"


def limits(deployment: Deployment) -> Limits:
    """Return the limits in pods; if both are zero, one pod may be unavailable."""
    if not is_rolling(deployment):
        return Limits(0, 0)
    rolling = deployment.spec.strategy.rolling_update if deployment.spec.strategy is not None else None
    replicas = replicas_of(deployment)
    surge_text = rolling.max_surge if rolling is not None and rolling.max_surge is not None else _DEFAULT
    missing_text = rolling.max_unavailable if rolling is not None and rolling.max_unavailable is not None else _DEFAULT
    surge = scaled(surge_text, replicas, round_up=True)
    unavailable = scaled(missing_text, replicas, round_up=False)
    return Limits(surge, min(unavailable, replicas) if surge or unavailable else 1)


def max_replicas(deployment: Deployment) -> int:
    """Return how many pods there may be while a rollout is under way."""
    return replicas_of(deployment) + limits(deployment).surge


def available(replica_sets: Iterable[ReplicaSet]) -> int:
    """Return the number of available pods, without those that a ReplicaSet is about to delete."""
    return sum(min(one.status.available_replicas or 0, replicas_of(one)) for one in replica_sets)


def wanted_pods(replica_sets: Iterable[ReplicaSet]) -> int:
    """Return the number of pods that ReplicaSets should have."""
    return sum(map(replicas_of, replica_sets))


def new_size(deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> int:
    """Return the size that the new ReplicaSet may have now."""
    replicas, present = replicas_of(deployment), replicas_of(new) if new is not None else 0
    if not is_rolling(deployment) or present >= replicas:
        return replicas
    room = max_replicas(deployment) - wanted_pods(replica_sets)
    return present + max(min(room, replicas - present), 0)


def old_sizes(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet) -> list[Resize]:
    """Return the old ReplicaSets that may shrink now: unhealthy pods first, then as many as availability allows."""
    everything = [*old, new]
    least = replicas_of(deployment) - limits(deployment).unavailable
    pending = replicas_of(new) - min(new.status.available_replicas or 0, replicas_of(new))
    most = wanted_pods(everything) - least - pending
    if most <= 0 or wanted_pods(old) == 0:
        return []
    sizes = {one.name: replicas_of(one) for one in old}
    left = most
    for one in by_age(old):
        unhealthy = replicas_of(one) - available([one])
        gone = min(left, unhealthy)
        sizes[one.name] -= gone
        left -= gone
    spare = available(everything) - least
    for one in by_age(old):
        healthy = min(sizes[one.name], available([one]))
        gone = max(min(spare, healthy, left), 0)
        sizes[one.name] -= gone
        spare -= gone
        left -= gone
    return [Resize(one, sizes[one.name]) for one in old if sizes[one.name] != replicas_of(one)]


def is_scaled(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> bool:
    """Return whether the number of replicas was changed since the ReplicaSets got their sizes."""
    sizes = (noted(one, DESIRED) for one in replica_sets if replicas_of(one))
    return any(size is not None and size != replicas_of(deployment) for size in sizes)


def scaled_sizes(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet | None) -> list[Resize]:
    """Return the share of each ReplicaSet in a changed number of replicas.

    The only one that has pods, or the newest, gets all; during a rollout each keeps its proportion.
    """
    everything = [*old, *([new] if new is not None else [])]
    active = [one for one in everything if replicas_of(one)]
    if len(active) <= 1:
        newest = [new] if new is not None else by_age(old)[-1:]
        return [Resize(only, replicas_of(deployment)) for only in active or newest]
    if new is not None and _is_saturated(deployment, new):
        return [Resize(one, 0) for one in old if replicas_of(one)]
    return _proportional(deployment, active) if is_rolling(deployment) else []


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    """Return whether the rollout is over but for the end of old pods."""
    replicas = replicas_of(deployment)
    has_all = replicas_of(new) == replicas and noted(new, DESIRED) == replicas
    return has_all and (new.status.available_replicas or 0) == replicas


def _proportional(deployment: Deployment, active: Sequence[ReplicaSet]) -> list[Resize]:
    allowed = max_replicas(deployment) if replicas_of(deployment) else 0
    change = allowed - wanted_pods(active)
    # The largest first; of equal ones the newest grow first, and the oldest shrink first.
    ordered = by_age(active)
    if change > 0:
        ordered.reverse()
    ordered.sort(key=replicas_of, reverse=True)
    sizes, given = {}, 0
    for one in ordered:
        share = _share(one, deployment, change, given)
        sizes[one.name] = replicas_of(one) + share
        given += share
    if ordered:
        sizes[ordered[0].name] = max(sizes[ordered[0].name] + change - given, 0)
    return [Resize(one, sizes[one.name]) for one in ordered]


def _share(replica_set: ReplicaSet, deployment: Deployment, change: int, given: int) -> int:
    size = replicas_of(replica_set)
    if not change or change == given:
        return 0
    if replicas_of(deployment) == 0:
        return -size
    before = noted(replica_set, MAXIMUM) or deployment.status.replicas or max_replicas(deployment)
    # Half a pod counts as a whole one, as Go rounds.
    grown = (2 * size * max_replicas(deployment) + before) // (2 * before)
    wish, rest = grown - size, change - given
    return min(wish, rest) if change > 0 else max(wish, rest)
