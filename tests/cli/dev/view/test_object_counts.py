"""Counting objects, and how many of them are ready."""

from typing import Any

import pytest

from steersman import meta
from steersman.cli.dev.view.object_counts import Count, ObjectCounts
from steersman.cli.dev.view.readiness import is_ready
from steersman.kinds.core_v1 import ConfigMap, Container, Pod, PodCondition, PodSpec
from steersman.protocol.options import DeleteOptions
from steersman.testing.cluster import Cluster


def conditions(**states: str) -> dict[str, Any]:
    """Return a status with conditions."""
    return {"conditions": [{"type": name, "status": state} for name, state in states.items()]}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({}, None),
        ({"status": {"message": "hello"}}, None),
        ({"status": conditions(Ready="True")}, True),
        ({"status": conditions(Ready="False", Available="True")}, False),
        ({"status": conditions(Progressing="True")}, None),
        ({"status": {"phase": "Succeeded", **conditions(Ready="False")}}, True),
        ({"kind": "Deployment", "spec": {"replicas": 2}, "status": {"readyReplicas": 2}}, True),
        ({"kind": "Deployment", "spec": {"replicas": 2}, "status": conditions(Available="True")}, False),
        ({"kind": "StatefulSet", "spec": {"replicas": 0}, "status": {}}, True),
        (
            {
                "kind": "ReplicaSet",
                "metadata": {"generation": 2},
                "spec": {"replicas": 2},
                "status": {"observedGeneration": 1, "readyReplicas": 2},
            },
            False,
        ),
        ({"kind": "DaemonSet", "status": {"numberReady": 1, "desiredNumberScheduled": 2}}, False),
        ({"kind": "Job", "status": conditions(Complete="True")}, True),
        ({"status": "odd"}, None),
        ({"status": {"conditions": "odd"}}, None),
    ],
)
def test_an_object_is_ready_if_its_status_says_so(obj: dict[str, Any], *, expected: bool | None) -> None:
    """Numbers take precedence over conditions: a Deployment is Available before all of its pods are ready."""
    assert is_ready(obj) is expected


async def test_objects_are_counted_as_they_appear_become_ready_and_disappear(cluster: Cluster) -> None:
    """Also those that existed before the first request."""
    changes: list[None] = []
    object_counts = ObjectCounts(cluster.server.objects, lambda: changes.append(None))
    spec = PodSpec(containers=[Container(name="main", image="busybox")])
    pod = await cluster.client.create(Pod(meta("a"), spec=spec))
    assert changes == []
    assert str(object_counts.count("pods")) == "1"
    await cluster.client.create(Pod(meta("b"), spec=spec))
    pod.status.conditions = [PodCondition(type="Ready", status="True")]
    await cluster.client.status.update(pod)
    assert object_counts.count("pods") == Count(total=2, judged=1, ready=1)
    assert str(object_counts.count("pods")) == "1/2"
    await cluster.client.delete(pod, options=DeleteOptions(grace_period_seconds=0))
    assert str(object_counts.count("pods")) == "1"
    told = len(changes)
    assert told >= 3
    await cluster.client.create(ConfigMap(meta("a")))
    assert len(changes) == told
