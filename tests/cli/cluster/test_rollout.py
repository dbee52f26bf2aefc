"""Waiting for the rollout of a deployed operator: success is certain, and a failure has the message of the pod."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import click
import pytest

from steersman.cli.cluster.diagnosis import Level, deployment_finding
from steersman.cli.cluster.rollout import RolloutWait, rollout_of
from steersman.kinds.apps_v1 import Deployment
from steersman.localcluster.local_cluster import local_operators
from steersman.localcluster.simulated_node.script import PREFIX
from steersman.objects.codec import from_json
from steersman.objects.resource import Unstructured
from steersman.scaffold.manifests.shape import Shape
from steersman.scaffold.manifests.workload import deployment_object
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.support.example_operator import operator


def deployed(image: str = "fleet:1", **script: str) -> Unstructured:
    """Return the operator's Deployment; keyword arguments set what its pods do on a simulated node."""
    made = deployment_object(operator, Shape(image=image, namespace="default"))
    annotations = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in script.items()}
    made["spec"]["template"]["metadata"]["annotations"] = annotations
    del made["spec"]["template"]["spec"]["serviceAccountName"]
    return Unstructured(made)


def waiting(cluster: Cluster, lines: list[str]) -> RolloutWait:
    """Return the waiting part of `steer deploy`."""
    return RolloutWait(cluster.client, "fleet", "default", cluster.clock, lines.append)


async def _error(work: Awaitable[None]) -> click.ClickException | None:
    try:
        await work
    except click.ClickException as error:
        return error
    return None


async def ended(work: Awaitable[None], clock: FakeClock, seconds: float) -> click.ClickException | None:
    """Advance the clock until the work ends, and return its error."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_error(work))
        await clock.advance(seconds)
        assert task.done()
    return task.result()


def status(**fields: Any) -> Deployment:
    """Return a Deployment of two replicas with a status."""
    metadata = {"name": "fleet", "generation": 2}
    given = {"observedGeneration": 2, **fields}
    return from_json(
        Deployment,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": 2, "selector": {}, "template": {"metadata": {}, "spec": {"containers": []}}},
            "status": given,
        },
    )


@pytest.mark.parametrize(
    ("fields", "text", "is_complete", "is_stuck"),
    [
        (
            {"observedGeneration": 1, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2},
            "not seen",
            False,
            False,
        ),
        ({}, "0 of 2 pods are new", False, False),
        ({"updatedReplicas": 1, "replicas": 3, "availableReplicas": 2}, "1 of 2 pods are new", False, False),
        ({"updatedReplicas": 2, "replicas": 3, "availableReplicas": 2}, "not ended: 1", False, False),
        ({"updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}, "1 of 2 new pods are ready", False, False),
        ({"updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}, "2 pods are ready", True, False),
        (
            {
                "updatedReplicas": 1,
                "replicas": 3,
                "availableReplicas": 2,
                "conditions": [
                    {
                        "type": "Progressing",
                        "status": "False",
                        "reason": "ProgressDeadlineExceeded",
                        "message": "it has timed out",
                    }
                ],
            },
            "1 of 2 pods are new: it has timed out",
            False,
            True,
        ),
        (
            {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": "quota is used up"}]},
            "0 of 2 pods are new: quota is used up",
            False,
            True,
        ),
    ],
)
def test_the_status_shows_the_progress(fields: dict[str, Any], text: str, is_complete: bool, is_stuck: bool) -> None:
    """Ready pods of the old release say nothing about the new one; a stuck rollout would look healthy."""
    found = rollout_of(status(**fields))
    assert text in found.text
    assert (found.is_complete, found.is_stuck) == (is_complete, is_stuck)


async def test_the_wait_ends_with_the_rollout(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Progress is printed, each line once."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed())
        assert await ended(waiting(cluster, lines).run(60), fake_clock, 30) is None
    assert lines[-1] == "2 pods are ready"
    assert len(lines) == len(set(lines))


async def test_a_pod_that_keeps_failing_ends_the_wait_with_its_reason(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A crash loop ends the wait before the timeout; a single failure does not."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="CrashLoopBackOff"))
        error = await ended(waiting(cluster, lines).run(600), fake_clock, 300)
    assert error is not None
    assert "the rollout fails" in error.message
    assert "CrashLoopBackOff" in error.message
    assert "exit code 1" in error.message


async def test_failing_pods_of_the_previous_release_do_not_end_the_wait(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A fix is deployed while pods of the broken release still fail, until the new ones are ready."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.apply(deployed(fail="CrashLoopBackOff"), force=True)
        await fake_clock.advance(300)
        await cluster.client.apply(deployed("fleet:2"), force=True)
        assert await ended(waiting(cluster, lines).run(60), fake_clock, 60) is None
    assert lines[-1] == "2 pods are ready"
    assert not any("CrashLoopBackOff" in line for line in lines)


async def test_pods_of_an_unknown_release_do_not_end_the_wait(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Without permission to read ReplicaSets the release of failing pods is unknown: only the timeout ends the wait."""
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="CrashLoopBackOff"))
        await fake_clock.advance(300)
        cluster.faults.inject(Refuse(403, "Forbidden"), path="/replicasets", times=None)
        error = await ended(waiting(cluster, []).run(30), fake_clock, 60)
    assert error is not None
    assert "did not end in 30 s" in error.message


async def test_a_timeout_is_an_error_with_the_last_progress(cluster: Cluster, fake_clock: FakeClock) -> None:
    """No node starts pods here."""
    await cluster.client.create(deployed())
    error = await ended(waiting(cluster, []).run(30), fake_clock, 35)
    assert error is not None
    assert "did not end in 30 s: the cluster has not seen the deployment yet" in error.message


async def test_doctor_does_not_accept_ready_pods_of_the_old_release(cluster: Cluster, fake_clock: FakeClock) -> None:
    """It reported ok because two pods of the previous release were ready."""
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed())
        await fake_clock.advance(20)
        assert (await deployment_finding(cluster.client, "fleet", "default")).level is Level.GOOD
        await cluster.client.apply(deployed("fleet:2", fail="3"), force=True)
        await fake_clock.advance(60)
        finding = await deployment_finding(cluster.client, "fleet", "default")
    assert finding.level is Level.BAD
    assert "CrashLoopBackOff" in finding.what


async def test_an_image_that_cannot_be_pulled_is_shown_during_the_wait(cluster: Cluster, fake_clock: FakeClock) -> None:
    """It may be pushed a minute later, so it does not end the wait."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="ImagePullBackOff"))
        error = await ended(waiting(cluster, lines).run(60), fake_clock, 65)
    assert error is not None
    assert "did not end in 60 s" in error.message
    assert any("ImagePullBackOff" in line or "ErrImagePull" in line for line in lines)
