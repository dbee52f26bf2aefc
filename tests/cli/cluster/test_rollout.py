"""Waiting for the rollout of a deployed operator: done is done, and what fails is named with the pod's own words."""

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
    """Return the operator's deployment; keyword arguments are what its pods do on a simulated node."""
    made = deployment_object(operator, Shape(image=image, namespace="default"))
    annotations = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in script.items()}
    made["spec"]["template"]["metadata"]["annotations"] = annotations
    del made["spec"]["template"]["spec"]["serviceAccountName"]
    return Unstructured(made)


def waiting(cluster: Cluster, lines: list[str]) -> RolloutWait:
    """Make the wait of `steer deploy`."""
    return RolloutWait(cluster.client, "fleet", "default", cluster.clock, lines.append)


async def _error(work: Awaitable[None]) -> click.ClickException | None:
    try:
        await work
    except click.ClickException as error:
        return error
    return None


async def ended(work: Awaitable[None], clock: FakeClock, seconds: float) -> click.ClickException | None:
    """Let time pass until some work ends, and return the error that it ends with."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_error(work))
        await clock.advance(seconds)
        assert task.done()
    return task.result()


def status(**fields: Any) -> Deployment:
    """Return a deployment of two replicas with a status."""
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
def test_the_status_tells_how_far_it_is(fields: dict[str, Any], text: str, is_complete: bool, is_stuck: bool) -> None:
    """Old pods that are ready say nothing about the new ones: that is how a stuck rollout looks well."""
    found = rollout_of(status(**fields))
    assert text in found.text
    assert (found.is_complete, found.is_stuck) == (is_complete, is_stuck)


async def test_the_wait_ends_with_the_rollout(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Progress is shown, each line once."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed())
        assert await ended(waiting(cluster, lines).run(60), fake_clock, 30) is None
    assert lines[-1] == "2 pods are ready"
    assert len(lines) == len(set(lines))


async def test_a_pod_that_keeps_failing_ends_the_wait_with_its_reason(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A crash loop is not waited for until the time is up; one failure alone is."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="CrashLoopBackOff"))
        error = await ended(waiting(cluster, lines).run(600), fake_clock, 300)
    assert error is not None
    assert "the rollout fails" in error.message
    assert "CrashLoopBackOff" in error.message
    assert "exit code 1" in error.message


async def test_failing_pods_of_the_release_before_do_not_end_the_wait(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A fix is deployed while pods of the broken release still fail, and for as long as the new ones are not ready."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.apply(deployed(fail="CrashLoopBackOff"), force=True)
        await fake_clock.advance(300)
        await cluster.client.apply(deployed("fleet:2"), force=True)
        assert await ended(waiting(cluster, lines).run(60), fake_clock, 60) is None
    assert lines[-1] == "2 pods are ready"
    assert not any("CrashLoopBackOff" in line for line in lines)


async def test_pods_that_may_be_of_the_release_before_do_not_end_the_wait(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Without permission to read ReplicaSets nobody knows whose the failing pods are: only the time ends the wait."""
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="CrashLoopBackOff"))
        await fake_clock.advance(300)
        cluster.faults.inject(Refuse(403, "Forbidden"), path="/replicasets", times=None)
        error = await ended(waiting(cluster, []).run(30), fake_clock, 60)
    assert error is not None
    assert "did not end in 30 s" in error.message


async def test_time_that_is_up_is_an_error_that_says_what_was_last_seen(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Nothing starts pods here."""
    await cluster.client.create(deployed())
    error = await ended(waiting(cluster, []).run(30), fake_clock, 35)
    assert error is not None
    assert "did not end in 30 s: the cluster has not seen the deployment yet" in error.message


async def test_doctor_is_not_content_with_the_old_pods(cluster: Cluster, fake_clock: FakeClock) -> None:
    """It said ok because two pods were ready, of the release before."""
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed())
        await fake_clock.advance(20)
        assert (await deployment_finding(cluster.client, "fleet", "default")).level is Level.GOOD
        await cluster.client.apply(deployed("fleet:2", fail="3"), force=True)
        await fake_clock.advance(60)
        finding = await deployment_finding(cluster.client, "fleet", "default")
    assert finding.level is Level.BAD
    assert "CrashLoopBackOff" in finding.what


async def test_an_image_that_cannot_be_had_is_shown_while_it_is_waited_for(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """It may be pushed a minute later, so it does not end the wait."""
    lines: list[str] = []
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployed(fail="ImagePullBackOff"))
        error = await ended(waiting(cluster, lines).run(60), fake_clock, 65)
    assert error is not None
    assert "did not end in 60 s" in error.message
    assert any("ImagePullBackOff" in line or "ErrImagePull" in line for line in lines)
