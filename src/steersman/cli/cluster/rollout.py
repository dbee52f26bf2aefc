"""The rollout of a deployed operator: its progress, what keeps its pods from being ready, and waiting for its end.

A pod that fails now may succeed at its next restart (an image is pushed late, a Secret comes later), so a problem is
shown when it is found, and the wait goes on until the rollout is complete, the time is up, or a container has failed
too often. However the wait ends, the rollout itself continues in the cluster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import click

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.errors import Forbidden, SteersmanError
from steersman.kinds.apps_v1 import Deployment, ReplicaSet
from steersman.kinds.core_v1 import ContainerStatus, Pod
from steersman.protocol.options import LogOptions
from steersman.scaffold.manifests.shape import selector_of

#: Seconds between looks.
_LOOK_EVERY: Final = 1.0
#: Restarts after which a failing container ends the wait.
_RESTARTS: Final = 3
#: How the deployment controller of Kubernetes marks the ReplicaSet of a revision, and its pods.
_REVISION: Final = "deployment.kubernetes.io/revision"
_HASH: Final = "pod-template-hash"
#: Lines of a pod's log that are shown when it failed.
_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a rollout is."""

    text: str
    is_complete: bool = False
    #: Whether the cluster has given up on it.
    is_stuck: bool = False


def rollout_of(deployment: Deployment) -> Rollout:
    """Return how far the rollout of a deployment is, by its status."""
    status, wanted = deployment.status, deployment.spec.replicas if deployment.spec.replicas is not None else 1
    if (status.observed_generation or 0) < (deployment.metadata.generation or 0):
        return Rollout("the cluster has not seen the deployment yet")
    updated, total, available = (
        status.updated_replicas or 0,
        status.replicas or 0,
        status.available_replicas or 0,
    )
    for condition in status.conditions or ():
        is_late = condition.type == "Progressing" and condition.reason == "ProgressDeadlineExceeded"
        if is_late or (condition.type == "ReplicaFailure" and condition.status == "True"):
            return Rollout(f"{updated} of {wanted} pods are new: {condition.message}", is_stuck=True)
    if updated < wanted:
        return Rollout(f"{updated} of {wanted} pods are new")
    if total > updated:
        return Rollout(f"old pods that have not ended: {total - updated}")
    if available < updated:
        return Rollout(f"{available} of {updated} new pods are ready")
    return Rollout(f"{available} pods are ready", is_complete=True)


async def operator_pods(client: Client, name: str, namespace: str) -> list[Pod]:
    """Return the pods of an operator."""
    labels = ",".join(f"{key}={value}" for key, value in selector_of(name).items())
    return [pod async for pod in client.list(Pod, namespace=namespace, label_selector=labels)]


async def release_pods(client: Client, deployment: Deployment) -> list[Pod]:
    """Return the pods of the release that is being rolled out; none as long as the cluster has not seen it.

    Pods of the release before may fail until the new ones are ready, which says nothing about the new release. Which
    pods are whose is known by the ReplicaSet of the current revision; without permission to read it, no pod is taken
    for one of the new release.
    """
    if (deployment.status.observed_generation or 0) < (deployment.metadata.generation or 0):
        return []
    revision = (deployment.metadata.annotations or {}).get(_REVISION)
    hashes = set()
    try:
        async for replicas in client.list(ReplicaSet, namespace=deployment.namespace):
            is_owned = any(owner.uid == deployment.uid for owner in replicas.metadata.owner_references or ())
            if is_owned and (replicas.metadata.annotations or {}).get(_REVISION) == revision:
                hashes.add((replicas.metadata.labels or {}).get(_HASH))
    except Forbidden:
        return []
    pods = await operator_pods(client, deployment.name, deployment.namespace or "")
    return [pod for pod in pods if (pod.metadata.labels or {}).get(_HASH) in hashes]


def pod_problem(pod: Pod) -> str:
    """Return what keeps a pod from being ready; empty if nothing does that its status shows."""
    status = pod.status
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"no node fits: {condition.message}"
    for container in status.container_statuses or ():
        if problem := _container_problem(container):
            return problem
    return ""


def _container_problem(container: ContainerStatus) -> str:
    waiting = container.state.waiting if container.state is not None else None
    ended = container.state.terminated if container.state is not None else None
    last = container.last_state.terminated if container.last_state is not None else None
    if waiting is not None and waiting.reason not in (None, "ContainerCreating", "PodInitializing"):
        ended_before = f"; it ended with exit code {last.exit_code}" if last is not None else ""
        return f"{waiting.reason}: {waiting.message or 'no reason is given'}{ended_before}"
    if ended is not None:
        return f"it ended with exit code {ended.exit_code} ({ended.reason})"
    return ""


def keeps_failing(pod: Pod) -> bool:
    """Return whether a container of a pod has failed too often to be waited for."""
    return any(
        (container.restart_count or 0) >= _RESTARTS and bool(_container_problem(container))
        for container in pod.status.container_statuses or ()
    )


@dataclass(frozen=True, slots=True)
class RolloutWait:
    """Waits for the rollout of one operator."""

    client: Client
    name: str
    namespace: str
    clock: Clock
    #: Shows a line of progress.
    tell: Callable[[str], None]

    async def run(self, seconds: float) -> None:
        """Wait until the rollout is complete; ``ClickException`` with the pods' problems and logs if it fails."""
        shown: set[str] = set()
        until = self.clock.monotonic() + seconds
        while True:
            deployment = await self.client.get(Deployment, self.name, self.namespace)
            pods = await release_pods(self.client, deployment)
            rollout = rollout_of(deployment)
            for line in _progress(rollout, pods):
                if line not in shown:
                    self.tell(line)
                    shown.add(line)
            if rollout.is_complete:
                return
            if rollout.is_stuck or any(map(keeps_failing, pods)):
                raise await self._failure(rollout, pods, "the rollout fails")
            if self.clock.monotonic() >= until:
                raise await self._failure(rollout, pods, f"the rollout did not end in {seconds:g} s")
            await self.clock.sleep(_LOOK_EVERY)

    async def _failure(self, rollout: Rollout, pods: list[Pod], what: str) -> click.ClickException:
        failing = [pod for pod in pods if pod_problem(pod)]
        for pod in failing[:1]:
            for line in await self._log(pod):
                self.tell(f"  {pod.name} | {line}")
        problems = "; ".join(f"pod {pod.name}: {pod_problem(pod)}" for pod in failing[:1])
        advice = f"see 'kubectl describe pods -n {self.namespace}' and 'steer doctor --deployed'"
        return click.ClickException(f"{what}: {rollout.text}{f'; {problems}' if problems else ''}; {advice}")

    async def _log(self, pod: Pod) -> list[str]:
        """Return the last lines of a pod's log; of the run before the last restart, if that was just now."""
        for previous in (False, True):
            options = LogOptions(container="operator", tail_lines=_LINES, previous=previous)
            try:
                if lines := [line async for line in self.client.logs(pod, options)]:
                    return lines
            except SteersmanError:
                continue  # The container has no such run, or the node does not answer: the status has the details.
        return []


def _progress(rollout: Rollout, pods: list[Pod]) -> Iterator[str]:
    yield rollout.text
    for pod in pods:
        if problem := pod_problem(pod):
            yield f"pod {pod.name}: {problem}"
