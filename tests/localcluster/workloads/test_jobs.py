from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.kinds.batch_v1 import (
    Job,
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from steersman.kinds.batch_v1 import PodFailurePolicyOnPodConditionsPattern as Pattern
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads.jobs import reconciler as jobs
from steersman.localcluster.workloads.jobs import ttl as finished_jobs
from steersman.localcluster.workloads.jobs.counts import FINALIZER, format_indexes, parse_indexes
from steersman.protocol.options import DeleteOptions, PropagationPolicy
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import events_of, job, names, node_and


def status(cluster: Cluster) -> JobStatus:
    """Return the status of the one Job."""
    (found,) = cluster.list(Job)
    return found.status


def conditions(cluster: Cluster) -> list[tuple[str, str, str]]:
    """Return the conditions of the Job as text."""
    return [(one.type, one.status, one.reason or "") for one in status(cluster).conditions or ()]


async def test_a_job_runs_until_enough_pods_have_succeeded(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Five completions, two at a time: never more at once, and each counted exactly once."""
    most = 0
    async with node_and(cluster, jobs.operator):
        await cluster.client.create(job(completions=5, parallelism=2))
        for _ in range(40):
            await fake_clock.advance(0.2)
            most = max(most, status(cluster).active or 0)
        assert most == 2
        assert (status(cluster).succeeded, status(cluster).active, status(cluster).failed) == (5, None, None)
        assert conditions(cluster) == [
            ("SuccessCriteriaMet", "True", "CompletionsReached"),
            ("Complete", "True", "CompletionsReached"),
        ]
        began, ended = status(cluster).start_time, status(cluster).completion_time
        assert began is not None
        assert ended is not None
        assert ended - began == timedelta(seconds=3)
        assert len(cluster.list(Pod)) == 5
        assert all(FINALIZER not in pod.metadata.finalizers for pod in cluster.list(Pod))
        assert events_of(cluster, "Job")[-1] == "Completed: Job completed"


async def test_failures_are_retried_with_growing_delays(cluster: Cluster, fake_clock: FakeClock) -> None:
    """10, 20, 40 seconds between failures, and no more after the limit."""
    births: list[float] = []
    async with node_and(cluster, jobs.operator), cluster.informer(Pod) as pods:
        pods.handle(added=lambda _: births.append(fake_clock.monotonic()))
        await cluster.client.create(job(backoff_limit=3, script={"fail": "7"}))
        await fake_clock.advance(200)
        waits = [round(after - before) for before, after in pairwise(births)]
        assert waits == [11, 21, 41], "each pod works for a second before it fails"
        assert status(cluster).failed == 4
        assert conditions(cluster) == [
            ("FailureTarget", "True", "BackoffLimitExceeded"),
            ("Failed", "True", "BackoffLimitExceeded"),
        ]
        assert "BackoffLimitExceeded: Job has reached the specified backoff limit" in events_of(cluster, "Job")


async def test_restarts_inside_a_pod_count_as_failures_too(cluster: Cluster, fake_clock: FakeClock) -> None:
    """With OnFailure the pod stays and its container is restarted: the limit still holds."""
    async with node_and(cluster, jobs.operator):
        await cluster.client.create(job(restart="OnFailure", backoff_limit=2, script={"fail": "1"}))
        await fake_clock.advance(25)
        (pod,) = cluster.list(Pod)
        assert [one.restart_count for one in pod.status.container_statuses or ()] == [1]
        await fake_clock.advance(200)
        assert conditions(cluster)[-1] == ("Failed", "True", "BackoffLimitExceeded")
        assert cluster.list(Pod) == []


async def test_a_job_that_takes_too_long_fails(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Its pods are deleted at the deadline, and it has failed when the last of them is deleted."""
    async with node_and(cluster, jobs.operator):
        made = job(
            active_deadline_seconds=30, parallelism=2, completions=2, script={"run_for": "1h", "stop_after": "5s"}
        )
        await cluster.client.create(made)
        await fake_clock.advance(29)
        assert status(cluster).active == 2
        await fake_clock.advance(2)
        assert conditions(cluster) == [("FailureTarget", "True", "DeadlineExceeded")]
        assert status(cluster).terminating == 2
        await fake_clock.advance(5)
        assert conditions(cluster)[-1] == ("Failed", "True", "DeadlineExceeded")
        assert cluster.list(Pod) == []


async def test_a_suspended_job_has_no_pods_and_keeps_its_counts(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Queues suspend and resume jobs: pods that a suspension ends are not failures."""
    async with node_and(cluster, jobs.operator):
        work = await cluster.client.create(job(suspend=True, script={"run_for": "10s"}))
        await fake_clock.advance(5)
        assert cluster.list(Pod) == []
        assert conditions(cluster) == [("Suspended", "True", "JobSuspended")]
        assert status(cluster).start_time is None
        await cluster.client.patch(work, {"spec": {"suspend": False}})
        await fake_clock.advance(5)
        assert conditions(cluster) == [("Suspended", "False", "JobResumed")]
        assert status(cluster).active == 1
        await cluster.client.patch(work, {"spec": {"suspend": True}})
        await fake_clock.advance(1)
        assert cluster.list(Pod) == []
        assert (status(cluster).failed, status(cluster).active) == (None, None)
        await cluster.client.patch(work, {"spec": {"suspend": False}})
        await fake_clock.advance(11)
        assert conditions(cluster)[-1] == ("Complete", "True", "CompletionsReached")


async def test_indexed_pods_get_their_index(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Each index is processed once, by a pod that finds it in its environment and its name."""
    async with node_and(cluster, jobs.operator):
        await cluster.client.create(job(completions=3, parallelism=2, completion_mode="Indexed"))
        await fake_clock.advance(0.5)
        first = {pod.annotations["batch.kubernetes.io/job-completion-index"]: pod for pod in cluster.list(Pod)}
        assert sorted(first) == ["0", "1"]
        assert first["1"].name.startswith("work-1-")
        assert first["1"].spec.hostname == "work-1"
        (variable,) = first["1"].spec.containers[0].env or []
        assert variable.name == "JOB_COMPLETION_INDEX"
        await fake_clock.advance(5)
        assert (status(cluster).completed_indexes, status(cluster).succeeded) == ("0-2", 3)
        assert conditions(cluster)[-1][0] == "Complete"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (SuccessPolicyRule(succeeded_indexes="0"), "0"),
        (SuccessPolicyRule(succeeded_count=2), "0,1"),
        (SuccessPolicyRule(succeeded_indexes="1-2", succeeded_count=1), "0,1"),
    ],
    ids=["indexes", "count", "count of indexes"],
)
async def test_a_success_policy_completes_a_job_early(
    cluster: Cluster, fake_clock: FakeClock, rule: SuccessPolicyRule, expected: str
) -> None:
    """A leader that succeeded is enough: the other pods are deleted, and the Job is complete."""
    async with node_and(cluster, jobs.operator):
        policy = SuccessPolicy(rules=[rule])
        await cluster.client.create(job(completions=4, parallelism=1, completion_mode="Indexed", success_policy=policy))
        await fake_clock.advance(20)
        assert status(cluster).completed_indexes == expected
        assert conditions(cluster) == [
            ("SuccessCriteriaMet", "True", "SuccessPolicy"),
            ("Complete", "True", "SuccessPolicy"),
        ]
        (met, _) = status(cluster).conditions or []
        assert met.message == "Matched rules at index 0"


async def test_matching_orphans_are_adopted_and_others_released(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A pod whose owner was removed by hand is not run a second time."""
    async with node_and(cluster, jobs.operator):
        await cluster.client.create(job(parallelism=1, script={"run_for": "1h"}))
        await fake_clock.advance(1)
        (pod,) = cluster.list(Pod)
        await cluster.client.patch(pod, {"metadata": {"ownerReferences": None}})
        await fake_clock.advance(1)
        (adopted,) = cluster.list(Pod)
        assert adopted.controller is not None
        assert FINALIZER in adopted.metadata.finalizers
        await cluster.client.patch(pod, {"metadata": {"labels": None}})
        await fake_clock.advance(1)
        released = await cluster.client.get(Pod, pod.name)
        assert released.controller is None
        assert FINALIZER not in released.metadata.finalizers


async def test_a_finished_job_is_deleted_after_its_ttl(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Users should not have to delete hundreds of finished jobs."""
    async with node_and(cluster, jobs.operator, finished_jobs.operator):
        await cluster.client.create(job(ttl_seconds_after_finished=60))
        await fake_clock.advance(30)
        assert conditions(cluster)[-1][0] == "Complete"
        await fake_clock.advance(32)
        assert cluster.list(Job) == []
        assert cluster.list(Pod) == []


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_pods_of_a_deleted_job_can_be_deleted(
    cluster: Cluster, fake_clock: FakeClock, policy: PropagationPolicy
) -> None:
    """The finalizer that keeps pods until they are counted must not block them once the job is deleted."""
    async with node_and(cluster, jobs.operator):
        work = await cluster.client.create(job(script={"run_for": "1h"}))
        await fake_clock.advance(1)
        assert len(names(cluster)) == 1
        await cluster.client.delete(work, options=DeleteOptions(propagation_policy=policy))
        await fake_clock.advance(5)
        assert cluster.list(Job) == []
        assert cluster.list(Pod) == []


async def test_a_deleted_pod_is_replaced(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Draining a node must not end a job: the pod counts as failed and another one starts."""
    async with node_and(cluster, jobs.operator):
        await cluster.client.create(job(script={"run_for": "20s"}))
        await fake_clock.advance(1)
        (pod,) = cluster.list(Pod)
        await cluster.client.delete(pod)
        await fake_clock.advance(1)
        assert status(cluster).failed == 1
        await fake_clock.advance(40)
        assert (status(cluster).failed, status(cluster).succeeded) == (1, 1)


async def test_unsupported_fields_are_reported(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Users should not wonder for hours why a policy has no effect on a laptop."""
    async with node_and(cluster, jobs.operator):
        rule = PodFailurePolicyRule(
            action="FailJob", on_pod_conditions=[Pattern(type="DisruptionTarget", status="True")]
        )
        await cluster.client.create(job(pod_failure_policy=PodFailurePolicy(rules=[rule])))
        await fake_clock.advance(1)
        text = "spec.podFailurePolicy is not carried out by this local cluster: failures are all counted"
        assert f"NotSimulated: {text}" in events_of(cluster, "Job")


@given(st.sets(st.integers(0, 40)))
def test_indexes_are_formatted_and_parsed(numbers: set[int]) -> None:
    """Thousands of completions fit into one line, and none is lost."""
    assert set(parse_indexes(format_indexes(numbers))) == numbers


def test_adjacent_indexes_are_formatted_as_by_kubernetes() -> None:
    """Two in a row are listed, more are a range."""
    assert format_indexes({0, 1, 3}) == "0,1,3"
    assert format_indexes({7, 1, 2, 3, 5}) == "1-3,5,7"
