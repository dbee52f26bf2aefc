"""The reconciler of CustomPod, with an API server for each test."""

from typing import Any

import pytest
from steersman import Invalid, meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from steersman.kinds.events_v1 import Event
from steersman.testing import Cluster, FakeClock, Lose, Refuse

from custompod.api.custom_pod_v1 import CustomPod, CustomPodSpec
from custompod.main import operator


async def create(cluster: Cluster, replicas: int, name: str = "sample", **spec: Any) -> CustomPod:
    """Return a CustomPod with a number of replicas."""
    return await cluster.client.create(CustomPod(meta(name), CustomPodSpec(replicas=replicas, **spec)))


async def set_status(cluster: Cluster, pod: Pod, phase: str, *, ready: bool = False) -> None:
    """Set the status of a pod as a kubelet would."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"phase": phase, "conditions": [condition]}
    await cluster.client.status.patch(pod, {"status": status})


def reasons(cluster: Cluster) -> set[str]:
    """Return the reasons of all events."""
    return {event.reason or "" for event in cluster.list(Event)}


async def test_one_three_one(cluster: Cluster) -> None:
    """The article's check: change replicas and count the pods."""
    async with cluster.running(operator):
        custom_pod = await create(cluster, 1)
        for replicas in (1, 3, 1):
            await cluster.client.patch(custom_pod, {"spec": {"replicas": replicas}})
            await cluster.settle()
            names = [pod.name for pod in cluster.list(Pod)]
            [found] = cluster.list(CustomPod)
            assert len(names) == found.status.replicas == replicas
            assert found.status.pod_names == sorted(names)
            assert found.status.observed_generation == found.generation


async def test_pods_are_those_of_the_article(cluster: Cluster) -> None:
    """A sleeping busybox, with a label of its owner."""
    async with cluster.running(operator):
        await create(cluster, 1)
        await cluster.settle()
        [pod] = cluster.list(Pod)
    assert pod.name.startswith("sample-pod-")
    assert pod.labels == {"app": "sample"}
    assert [one.command for one in pod.spec.containers] == [["sleep", "3600"]]
    assert pod.controller is not None
    assert pod.controller.kind == "CustomPod"


async def test_the_template_of_the_spec_is_used(cluster: Cluster) -> None:
    """Busybox is only the default."""
    template = PodTemplateSpec(
        metadata=meta(labels={"tier": "front"}), spec=PodSpec(containers=[Container(name="web", image="nginx")])
    )
    async with cluster.running(operator):
        await create(cluster, 1, template=template)
        await cluster.settle()
        [pod] = cluster.list(Pod)
    assert pod.labels == {"app": "sample", "tier": "front"}
    assert [one.image for one in pod.spec.containers] == ["nginx"]


async def test_a_deleted_pod_is_replaced(cluster: Cluster) -> None:
    """The article's operator does not notice it, because it does not watch its pods."""
    async with cluster.running(operator):
        await create(cluster, 2)
        await cluster.settle()
        gone = cluster.list(Pod)[0]
        await cluster.client.delete(gone)
        await cluster.settle()
        names = [pod.name for pod in cluster.list(Pod)]
        assert len(names) == 2
        assert gone.name not in names
        assert cluster.list(CustomPod)[0].status.pod_names == sorted(names)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_has_ended_is_replaced(cluster: Cluster, phase: str) -> None:
    """A pod that has ended does not serve the user."""
    async with cluster.running(operator):
        await create(cluster, 2)
        await cluster.settle()
        ended = cluster.list(Pod)[0]
        await set_status(cluster, ended, phase)
        await cluster.settle()
        names = [pod.name for pod in cluster.list(Pod)]
    assert len(names) == 2
    assert ended.name not in names


async def test_a_foreign_pod_with_the_same_label_is_left_alone(cluster: Cluster) -> None:
    """Ownership is the uid of the controller, not a label. The article's operator deletes such pods."""
    await cluster.install(CustomPod)
    spec = PodSpec(containers=[Container(name="main", image="nginx")])
    foreign = await cluster.client.create(Pod(meta("foreign", labels={"app": "sample"}), spec=spec))
    async with cluster.running(operator):
        custom_pod = await create(cluster, 2)
        await cluster.settle()
        await cluster.client.patch(custom_pod, {"spec": {"replicas": 0}})
        await cluster.settle()
        assert [pod.uid for pod in cluster.list(Pod)] == [foreign.uid]
        assert cluster.list(CustomPod)[0].status.pod_names == []


async def test_unready_pods_are_deleted_first_then_the_youngest(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Scaling down should lose as little work as possible."""
    async with cluster.running(operator):
        custom_pod = await create(cluster, 1)
        for replicas in (2, 3, 4):
            await fake_clock.advance(10)
            await cluster.client.patch(custom_pod, {"spec": {"replicas": replicas}})
        await fake_clock.advance(10)
        first, second, third, fourth = sorted(cluster.list(Pod), key=lambda pod: pod.metadata.creation_timestamp or 0)
        for pod in (second, third, fourth):
            await set_status(cluster, pod, "Running", ready=True)
        await cluster.client.patch(custom_pod, {"spec": {"replicas": 2}})
        await cluster.settle()
        assert {pod.name for pod in cluster.list(Pod)} == {second.name, third.name}
        assert first.name not in cluster.list(CustomPod)[0].status.pod_names


async def test_the_status_shows_when_all_pods_are_ready(cluster: Cluster) -> None:
    """Scripts use `kubectl wait --for=condition=Ready`."""
    async with cluster.running(operator):
        await create(cluster, 2)
        await cluster.settle()
        waiting = cluster.list(CustomPod)[0].status
        for pod in cluster.list(Pod):
            await set_status(cluster, pod, "Running", ready=True)
        await cluster.settle()
        done = cluster.list(CustomPod)[0].status
    assert [(one.type, one.status) for one in waiting.conditions] == [("Progressing", "True"), ("Ready", "False")]
    assert [(one.type, one.status) for one in done.conditions] == [("Progressing", "False"), ("Ready", "True")]
    assert done.ready_replicas == 2


async def test_a_hundred_pods_need_one_status_write(cluster: Cluster, fake_clock: FakeClock) -> None:
    """There is an event for each pod, but one status."""
    async with cluster.running(operator):
        await create(cluster, 100)
        await cluster.settle()
        assert len(cluster.list(Pod)) == 100
        assert cluster.faults.count("PATCH", "/custompods/sample/status") == 1
        assert fake_clock.monotonic() == 0


async def test_few_requests_are_made_while_pods_are_forbidden(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An exhausted quota must not cause a hundred requests at once, and must be retried."""
    async with cluster.running(operator):
        quota = cluster.faults.inject(
            Refuse(403, "Forbidden", "exceeded quota"), method="POST", path="/pods", times=None
        )
        await create(cluster, 100)
        await cluster.settle()
        assert cluster.faults.count("POST", "/pods") == 1
        progressing = cluster.list(CustomPod)[0].status.condition("Progressing")
        assert progressing is not None
        assert (progressing.status, progressing.reason) == ("False", "FailedCreate")
        assert "exceeded quota" in progressing.message
        assert "FailedCreate" in reasons(cluster)
        quota.times = 0
        await fake_clock.advance(60)
        assert len(cluster.list(Pod)) == 100
        progressing = cluster.list(CustomPod)[0].status.condition("Progressing")
        assert progressing is not None
        assert progressing.reason == "WaitingForPods"


async def test_an_invalid_template_is_reported_and_not_retried(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A retry cannot help, only another template."""
    async with cluster.running(operator):
        empty = PodTemplateSpec(spec=PodSpec(containers=[]))
        custom_pod = await create(cluster, 3, template=empty)
        await fake_clock.advance(3600)
        assert cluster.faults.count("POST", "/pods") == 1
        ready = cluster.list(CustomPod)[0].status.condition("Ready")
        assert ready is not None
        assert ready.reason == "InvalidTemplate"
        await cluster.client.patch(custom_pod, {"spec": {"template": None}})
        await cluster.settle()
        assert len(cluster.list(Pod)) == 3


async def test_a_lost_response_does_not_leave_an_extra_pod(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The pod was created although the response was lost: the cache shows it before the next attempt."""
    async with cluster.running(operator):
        cluster.faults.inject(Lose(), method="POST", path="/pods", times=2)
        await create(cluster, 5)
        await fake_clock.advance(60)
        assert len(cluster.list(Pod)) == 5


async def test_a_lagging_cache_does_not_cause_extra_pods(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A pod that was created and is not in the cache yet must not be created again."""
    async with cluster.running(operator):
        cluster.faults.hold("/pods")
        custom_pod = await create(cluster, 3)
        await fake_clock.advance(1)
        await cluster.client.patch(custom_pod, {"spec": {"replicas": 4}})
        await fake_clock.advance(1)
        cluster.faults.release()
        await cluster.settle()
        assert cluster.faults.count("POST", "/pods") == 4
        assert len(cluster.list(Pod)) == 4


async def test_a_settled_custom_pod_causes_no_writes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """For half an hour: needless writes wake all watchers."""
    async with cluster.running(operator):
        await create(cluster, 3)
        await cluster.settle()
        for pod in cluster.list(Pod):
            await set_status(cluster, pod, "Running", ready=True)
        await fake_clock.advance(600)
        cluster.faults.clear()
        await fake_clock.advance(30 * 60)
        assert cluster.faults.writes() == []


async def test_its_pods_are_deleted_with_it(cluster: Cluster) -> None:
    """The article's operator retries forever after a delete."""
    async with cluster.running(operator):
        custom_pod = await create(cluster, 3)
        await cluster.settle()
        await cluster.client.delete(custom_pod)
        await cluster.eventually(lambda: cluster.list(Pod) == [])
        await cluster.settle()
        assert cluster.list(CustomPod) == []


async def test_the_scale_subresource_scales(cluster: Cluster) -> None:
    """`kubectl scale` and autoscalers use only the scale subresource."""
    async with cluster.running(operator):
        custom_pod = await create(cluster, 1)
        await cluster.client.scale(custom_pod, 3)
        await cluster.settle()
        assert len(cluster.list(Pod)) == 3


@pytest.mark.parametrize("replicas", [-1, 101])
async def test_replicas_out_of_bounds_are_rejected(cluster: Cluster, replicas: int) -> None:
    """A mistyped number must not fill the cluster."""
    await cluster.install(CustomPod)
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        await create(cluster, replicas)


async def test_events_show_what_was_done(cluster: Cluster) -> None:
    """`kubectl describe` shows it."""
    async with cluster.running(operator):
        custom_pod = await create(cluster, 2)
        await cluster.settle()
        await cluster.client.patch(custom_pod, {"spec": {"replicas": 1}})
        await cluster.settle()
        assert reasons(cluster) == {"SuccessfulCreate", "SuccessfulDelete"}
