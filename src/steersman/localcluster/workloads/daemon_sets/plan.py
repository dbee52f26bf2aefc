"""What a DaemonSet does next: a pod on each chosen node, replaced without leaving too many nodes alone. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from steersman.kinds.apps_v1 import DaemonSet, DaemonSetStatus
from steersman.kinds.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
)
from steersman.localcluster.node_fit import is_wanted, tolerates
from steersman.localcluster.workloads.pods import is_available, is_finished, is_ready, pod_from
from steersman.objects.int_or_string import IntOrString, scaled

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
_TAINTS = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
_TOLERATED = (
    Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute"),
    Toleration(key="node.kubernetes.io/unreachable", operator="Exists", effect="NoExecute"),
    *(Toleration(key=f"node.kubernetes.io/{name}", operator="Exists", effect="NoSchedule") for name in _TAINTS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSetState:
    """A DaemonSet with its existing pods and revisions."""

    daemon_set: DaemonSet
    nodes: Sequence[Node]
    #: By the name of the node that each is meant for.
    pods: Mapping[str, Sequence[Pod]]
    #: The hash of the present template.
    update: str
    now: datetime

    def is_updated(self, pod: Pod) -> bool:
        """Return whether a pod has the present template."""
        return pod.labels.get(HASH_LABEL) == self.update

    def is_up(self, pod: Pod) -> bool:
        """Return whether a pod can be counted on."""
        return not pod.is_deleting and is_available(pod, self.daemon_set.spec.min_ready_seconds, self.now)

    def chosen(self) -> list[Node]:
        """Return the nodes that shall have a pod."""
        pod = daemon_pod(self.daemon_set, None, self.update)
        return [node for node in self.nodes if should_run(pod, node)]


@dataclass(frozen=True, slots=True)
class DaemonSetPlan:
    """Nodes that get a pod, and pods that are deleted."""

    create: list[Node]
    delete: list[Pod]
    #: Those of the deleted pods that had ended by themselves.
    failed: list[Pod]


def daemon_pod(daemon_set: DaemonSet, node: Node | None, update: str) -> Pod:
    """Return a pod that only one node takes, whatever the state of that node."""
    labels = {HASH_LABEL: update, GENERATION_LABEL: str(template_generation(daemon_set))}
    pod = pod_from(daemon_set.spec.template, prefix=f"{daemon_set.name}-", labels=labels)
    spec = pod.spec
    tolerated = [*(spec.tolerations or ()), *(one for one in _TOLERATED if one not in (spec.tolerations or ()))]
    if spec.host_network:
        key = "node.kubernetes.io/network-unavailable"
        tolerated.append(Toleration(key=key, operator="Exists", effect="NoSchedule"))
    spec.tolerations = tolerated
    if node is not None:
        here = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node.name])
        affinity = spec.affinity = spec.affinity or Affinity()
        choice = affinity.node_affinity = affinity.node_affinity or NodeAffinity()
        choice.required_during_scheduling_ignored_during_execution = NodeSelector(
            node_selector_terms=[NodeSelectorTerm(match_fields=[here])]
        )
    return pod


def template_generation(daemon_set: DaemonSet) -> int:
    """Return how often the template changed."""
    text = daemon_set.annotations.get("deprecated.daemonset.template.generation", "")
    return int(text) if text.isdecimal() else 0


def node_of(pod: Pod) -> str:
    """Return the node that a pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields or ():
            if field.key == "metadata.name" and field.values:
                return field.values[0]
    return ""


def should_run(pod: Pod, node: Node) -> bool:
    """Return whether a node shall have the pod."""
    if not is_wanted(pod, node):
        return False
    taints = [taint for taint in node.spec.taints or () if taint.effect in ("NoSchedule", "NoExecute")]
    # A node that is not ready yet gets its daemons: some of them make it ready.
    beginning = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
    return all(tolerates(pod.spec.tolerations or (), taint) or taint.key == beginning.key for taint in taints)


def next_steps(situation: DaemonSetState) -> DaemonSetPlan:
    """Return the pods to make and to delete now."""
    chosen = situation.chosen()
    names = {node.name for node in chosen}
    steps = DaemonSetPlan([], [], [])
    for name, pods in situation.pods.items():
        alive = [pod for pod in pods if not pod.is_deleting]
        failed = [pod for pod in alive if is_finished(pod)]
        steps.failed.extend(failed)
        steps.delete.extend(failed if name in names else alive)
    for node in chosen:
        running = [pod for pod in situation.pods.get(node.name, ()) if not is_finished(pod)]
        if not running:
            steps.create.append(node)
    strategy = situation.daemon_set.spec.update_strategy
    if strategy is None or strategy.type != "OnDelete":
        _roll(situation, chosen, steps)
    return steps


def _roll(situation: DaemonSetState, chosen: Sequence[Node], steps: DaemonSetPlan) -> None:
    strategy = situation.daemon_set.spec.update_strategy
    rolling = strategy.rolling_update if strategy is not None else None
    surge_text: IntOrString = (rolling.max_surge if rolling is not None else None) or 0
    missing_text: IntOrString = 1
    if rolling is not None and rolling.max_unavailable is not None:
        missing_text = rolling.max_unavailable
    surge = scaled(surge_text, len(chosen), round_up=True)
    missing = scaled(missing_text, len(chosen), round_up=True)
    if not surge and not missing:
        missing = 1
    if surge:
        _surge(situation, chosen, steps, surge)
    else:
        _replace(situation, chosen, steps, missing)


def _replace(situation: DaemonSetState, chosen: Sequence[Node], steps: DaemonSetPlan, missing: int) -> None:
    """Delete outdated pods: broken ones at once, others while few enough nodes are without."""
    room = missing
    outdated = []
    for node in chosen:
        pods = [pod for pod in situation.pods.get(node.name, ()) if not is_finished(pod)]
        if not any(situation.is_up(pod) for pod in pods):
            room -= 1
            steps.delete.extend(pod for pod in pods if not situation.is_updated(pod) and not pod.is_deleting)
        else:
            outdated += [pod for pod in pods if not situation.is_updated(pod) and not pod.is_deleting]
    steps.delete.extend(outdated[: max(room, 0)])


def _surge(situation: DaemonSetState, chosen: Sequence[Node], steps: DaemonSetPlan, surge: int) -> None:
    """Create new pods beside the old ones, which are deleted when the new ones are ready."""
    room = surge
    waiting = []
    for node in chosen:
        pods = [pod for pod in situation.pods.get(node.name, ()) if not is_finished(pod) and not pod.is_deleting]
        old = [pod for pod in pods if not situation.is_updated(pod)]
        new = [pod for pod in pods if situation.is_updated(pod)]
        if not old:
            continue
        if any(situation.is_up(pod) for pod in new):
            steps.delete.extend(old)
        elif new:
            room -= 1
        elif not any(situation.is_up(pod) for pod in old):
            steps.delete.extend(old)
        else:
            waiting.append(node)
    steps.create.extend(waiting[: max(room, 0)])


def status_of(situation: DaemonSetState) -> DaemonSetStatus:
    """Return the status of a DaemonSet as observed, without the changes of this run."""
    chosen = situation.chosen()
    names = {node.name for node in chosen}
    here = [_newest(situation, pods) for name, pods in situation.pods.items() if name in names]
    available = sum(is_available(pod, situation.daemon_set.spec.min_ready_seconds, situation.now) for pod in here)
    return DaemonSetStatus(
        desired_number_scheduled=len(chosen),
        current_number_scheduled=len(here),
        number_misscheduled=sum(name not in names for name in situation.pods),
        number_ready=sum(is_ready(pod) for pod in here),
        number_available=available or None,
        number_unavailable=(len(chosen) - available) or None,
        updated_number_scheduled=sum(situation.is_updated(pod) for pod in here) or None,
        observed_generation=situation.daemon_set.metadata.generation,
        collision_count=situation.daemon_set.status.collision_count,
    )


def _newest(situation: DaemonSetState, pods: Sequence[Pod]) -> Pod:
    """Return the pod that counts for its node: an available one, otherwise the newest."""
    return max(pods, key=lambda pod: (situation.is_updated(pod), situation.is_up(pod)))
