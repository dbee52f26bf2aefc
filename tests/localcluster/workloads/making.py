"""Workloads for tests, and a cluster that runs them: pods start fast unless annotations say otherwise."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from steersman.kinds.apps_v1 import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    RollingUpdateDeployment,
    StatefulSet,
    StatefulSetSpec,
)
from steersman.kinds.batch_v1 import Job, JobSpec
from steersman.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from steersman.kinds.events_v1 import Event
from steersman.kinds.meta_v1 import LabelSelector
from steersman.localcluster import node_taints, scheduler
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.localcluster.simulated_node.script import PREFIX
from steersman.manager.operator import Operator
from steersman.objects.int_or_string import IntOrString
from steersman.objects.meta import ObjectMeta, meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock


@asynccontextmanager
async def node_and(cluster: Cluster, *operators: Operator) -> AsyncIterator[Cluster]:
    """Run controllers on a cluster with one simulated node."""
    async with cluster.running(*operators, scheduler.operator, node_taints.operator, simulated_node()):
        await cluster.settle()
        yield cluster


def clock_of(cluster: Cluster) -> FakeClock:
    """Return the clock that the test advances."""
    assert isinstance(cluster.clock, FakeClock)
    return cluster.clock


def template(image: str = "one", *, app: str = "web", restart: str | None = None, **script: str) -> PodTemplateSpec:
    """Return a pod template; keyword arguments are instructions for the simulated node."""
    annotations = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in script.items()}
    return PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": app}, annotations=annotations),
        spec=PodSpec(containers=[Container(name="main", image=image)], restart_policy=restart),
    )


def selector(app: str = "web") -> LabelSelector:
    """Return a selector for the pods of an app."""
    return LabelSelector(match_labels={"app": app})


def deployment(
    replicas: int = 3,
    image: str = "one",
    *,
    surge: IntOrString = "25%",
    unavailable: IntOrString = "25%",
    script: Mapping[str, str] | None = None,
    **spec: Any,
) -> Deployment:
    """Return a Deployment."""
    rolling = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    strategy = DeploymentStrategy(type="RollingUpdate", rolling_update=rolling)
    defaults = {"strategy": strategy, "selector": selector(), "template": template(image, **(script or {}))}
    return Deployment(meta("web"), spec=DeploymentSpec(replicas=replicas, **{**defaults, **spec}))


def replica_set(replicas: int = 2, name: str = "web", **spec: Any) -> ReplicaSet:
    """Return a ReplicaSet."""
    defaults: dict[str, Any] = {"selector": selector(), "template": template()}
    return ReplicaSet(meta(name), spec=ReplicaSetSpec(replicas=replicas, **{**defaults, **spec}))


def stateful_set(replicas: int = 3, **spec: Any) -> StatefulSet:
    """Return a StatefulSet."""
    defaults: dict[str, Any] = {"selector": selector("db"), "template": template(app="db"), "service_name": "db"}
    return StatefulSet(meta("db"), spec=StatefulSetSpec(replicas=replicas, **{**defaults, **spec}))


def daemon_set(**spec: Any) -> DaemonSet:
    """Return a DaemonSet."""
    defaults: dict[str, Any] = {"selector": selector("agent"), "template": template(app="agent")}
    return DaemonSet(meta("agent"), spec=DaemonSetSpec(**{**defaults, **spec}))


def job(name: str = "work", *, restart: str = "Never", script: Mapping[str, str] | None = None, **spec: Any) -> Job:
    """Return a Job."""
    made = template(app=name, restart=restart, **(script or {}))
    return Job(meta(name), spec=JobSpec(template=made, **spec))


def names(cluster: Cluster) -> list[str]:
    """Return the names of all pods that are not being deleted."""
    return [pod.name for pod in cluster.list(Pod) if not pod.is_deleting]


def events_of(cluster: Cluster, kind: str) -> list[str]:
    """Return the events about objects of a kind, as ``Reason: note``, in order of time."""
    events = [event for event in cluster.list(Event) if event.regarding is not None and event.regarding.kind == kind]
    return [f"{event.reason}: {event.note}" for event in sorted(events, key=lambda event: str(event.event_time))]


async def set_image(cluster: Cluster, obj: Any, image: str, **script: str) -> Any:
    """Change the template of a workload."""
    annotations = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in script.items()}
    patch = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "main", "image": image}]}}
    return await cluster.client.patch(obj, {"spec": {"template": patch}})
