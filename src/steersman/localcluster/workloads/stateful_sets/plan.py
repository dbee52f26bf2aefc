"""What a StatefulSet does next: which pods to make and which to delete, one after another where order counts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads.pods import is_available, is_finished
from steersman.localcluster.workloads.stateful_sets.pods import REVISION_LABEL, start_of
from steersman.objects.int_or_string import scaled


@dataclass(frozen=True, slots=True)
class Create:
    """Create the pod with an ordinal, of a revision."""

    ordinal: int
    revision: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a pod; its ordinal is created again if it is wanted."""

    pod: Pod
    #: Whether it is deleted because it ended.
    has_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSetState:
    """A StatefulSet with its existing pods, claims and revisions."""

    stateful_set: StatefulSet
    #: By number.
    pods: Mapping[int, Pod]
    #: The names of the revisions that pods have had so far, and shall have.
    current: str
    update: str
    now: datetime

    @property
    def wanted(self) -> range:
        """The numbers that pods should have."""
        start = start_of(self.stateful_set)
        replicas = self.stateful_set.spec.replicas
        return range(start, start + (1 if replicas is None else replicas))

    @property
    def is_ordered(self) -> bool:
        """Whether each pod waits for the one before it."""
        return self.stateful_set.spec.pod_management_policy != "Parallel"

    def is_healthy(self, pod: Pod) -> bool:
        """Return whether a pod can be counted on."""
        return not pod.is_deleting and is_available(pod, self.stateful_set.spec.min_ready_seconds, self.now)

    def revision_for(self, ordinal: int) -> str:
        """Return the revision of a new pod: below the partition the one it had, also when it is replaced."""
        strategy = self.stateful_set.spec.update_strategy
        if strategy is not None and strategy.type == "OnDelete":
            return self.update
        partition = self._partition()
        if partition is not None:
            return self.current if ordinal < self.wanted.start + partition else self.update
        kept = self.stateful_set.status.current_replicas or 0
        return self.current if ordinal < self.wanted.start + kept else self.update

    def _partition(self) -> int | None:
        strategy = self.stateful_set.spec.update_strategy
        rolling = strategy.rolling_update if strategy is not None else None
        return (rolling.partition or 0) if rolling is not None else None

    @property
    def rolled(self) -> range:
        """The numbers whose pods a rolling update replaces."""
        return range(self.wanted.start + (self._partition() or 0), self.wanted.stop)


def next_steps(situation: StatefulSetState) -> list[Create | Delete]:
    """Return what can be done now: create missing pods, delete surplus ones, then replace outdated ones."""
    steps, is_settled = _fill(situation)
    if situation.is_ordered and not is_settled:
        return steps
    surplus = _surplus(situation)
    if situation.is_ordered and surplus:
        return [] if surplus[0].is_deleting else [Delete(surplus[0])]
    steps += [Delete(pod) for pod in surplus if not pod.is_deleting]
    return steps or _roll(situation)


def _fill(situation: StatefulSetState) -> tuple[list[Create | Delete], bool]:
    """Return the pods to make, and whether all that are wanted are there and healthy; in order one at a time."""
    steps: list[Create | Delete] = []
    is_settled = True
    for ordinal in situation.wanted:
        pod = situation.pods.get(ordinal)
        if pod is None:
            steps.append(Create(ordinal, situation.revision_for(ordinal)))
        elif is_finished(pod) and not pod.is_deleting:
            steps.append(Delete(pod, has_failed=True))
        elif situation.is_healthy(pod):
            continue
        is_settled = False
        if situation.is_ordered:
            break
    return steps, is_settled


def _surplus(situation: StatefulSetState) -> list[Pod]:
    """Return the pods beyond the wanted numbers, highest first."""
    numbers = sorted((number for number in situation.pods if number not in situation.wanted), reverse=True)
    return [situation.pods[number] for number in numbers]


def _roll(situation: StatefulSetState) -> list[Create | Delete]:
    """Return the pods to replace, highest number first; no more than may be missing at a time."""
    strategy = situation.stateful_set.spec.update_strategy
    if strategy is not None and strategy.type == "OnDelete":
        return []
    rolling = strategy.rolling_update if strategy is not None else None
    allowed = 1
    if rolling is not None and rolling.max_unavailable is not None:
        allowed = max(scaled(rolling.max_unavailable, len(situation.wanted), round_up=False), 1)
    steps: list[Create | Delete] = []
    for number in reversed(situation.rolled):
        pod = situation.pods.get(number)
        if pod is not None and not pod.is_deleting and pod.labels.get(REVISION_LABEL) != situation.update:
            steps.append(Delete(pod))
        elif pod is not None and situation.is_healthy(pod):
            continue
        allowed -= 1
        if not allowed:
            break
    return steps
