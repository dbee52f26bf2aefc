"""Complete rollouts in virtual time: what kubectl shows of them, and what must hold at every moment."""

import pytest

from steersman.kinds.apps_v1 import Deployment, DeploymentStrategy, ReplicaSet
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads import replica_sets
from steersman.localcluster.workloads.deployments import reconciler as deployments
from steersman.localcluster.workloads.pods import is_active, is_ready
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Lose, Refuse
from tests.localcluster.workloads.making import (
    deployment,
    events_of,
    node_and,
    replica_set,
    selector,
    set_image,
    template,
)

OPERATORS = (deployments.operator, replica_sets.operator)


def only(cluster: Cluster) -> Deployment:
    """Return the only Deployment."""
    (found,) = cluster.list(Deployment)
    return found


def condition(cluster: Cluster, kind: str) -> tuple[str, str, str]:
    """Return a condition of the Deployment as text."""
    (found,) = [one for one in only(cluster).status.conditions or () if one.type == kind]
    return found.status, found.reason or "", found.message or ""


def sizes(cluster: Cluster) -> list[int]:
    """Return the sizes of all ReplicaSets, in the order of their revisions."""
    ordered = sorted(cluster.list(ReplicaSet), key=lambda one: int(one.annotations[deployments.REVISION]))
    return [one.spec.replicas or 0 for one in ordered]


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable"), [(4, 1, 0), (4, 0, 1), (5, 2, 2), (3, "25%", "25%"), (2, 0, "10%")]
)
async def test_a_rollout_respects_its_limits_at_every_moment(
    cluster: Cluster, fake_clock: FakeClock, replicas: int, surge: int | str, unavailable: int | str
) -> None:
    """With maxSurge 1 and maxUnavailable 0 there must never be two more or one less, not even for an instant."""
    most = replicas + {"25%": 1, 1: 1, 0: 0, 2: 2}[surge]
    least = replicas - {"25%": 0, 0: 0, 1: 1, 2: 2, "10%": 1}[unavailable]
    seen: list[tuple[int, int]] = []
    async with node_and(cluster, *OPERATORS), cluster.informer(Pod) as pods:
        made = deployment(replicas, surge=surge, unavailable=unavailable, script={"ready_after": "3s"})
        web = await cluster.client.create(made)
        await fake_clock.advance(10)

        def look(*_: Pod) -> None:
            alive = [pod for pod in pods.list() if is_active(pod)]
            seen.append((len(alive), sum(map(is_ready, alive))))

        pods.handle(added=look, updated=look, deleted=look)
        await set_image(cluster, web, "two")
        await fake_clock.advance(60)
        assert {pod.spec.containers[0].image for pod in cluster.list(Pod)} == {"two"}
    assert len(seen) > 4 * replicas
    assert max(total for total, _ in seen) <= most
    assert min(ready for _, ready in seen) >= least


async def test_a_deployment_becomes_available_and_says_so(cluster: Cluster, fake_clock: FakeClock) -> None:
    """kubectl, other controllers and users read the status: it must be what Kubernetes writes."""
    async with node_and(cluster, *OPERATORS):
        await cluster.client.create(deployment(2, script={"ready_after": "5s"}))
        await fake_clock.advance(1)
        status = only(cluster).status
        assert (status.replicas, status.updated_replicas, status.unavailable_replicas) == (2, 2, 2)
        assert (status.ready_replicas, status.available_replicas) == (None, None)
        text = "Deployment does not have minimum availability."
        assert condition(cluster, "Available") == ("False", "MinimumReplicasUnavailable", text)
        (found,) = cluster.list(ReplicaSet)
        assert condition(cluster, "Progressing") == (
            "True",
            "ReplicaSetUpdated",
            f'ReplicaSet "{found.name}" is progressing.',
        )
        await fake_clock.advance(5)
        status = only(cluster).status
        assert (status.ready_replicas, status.available_replicas, status.unavailable_replicas) == (2, 2, None)
        assert (status.observed_generation, status.terminating_replicas) == (1, 0)
        text = "Deployment has minimum availability."
        assert condition(cluster, "Available") == ("True", "MinimumReplicasAvailable", text)
        text = f'ReplicaSet "{found.name}" has successfully progressed.'
        assert condition(cluster, "Progressing") == ("True", "NewReplicaSetAvailable", text)
        assert events_of(cluster, "Deployment") == [
            f"ScalingReplicaSet: Scaled up replica set {found.name} from 0 to 2"
        ]


async def test_a_replica_set_is_created_as_by_kubernetes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Rollbacks, `kubectl rollout` and other tools depend on labels, annotations and selector."""
    async with node_and(cluster, *OPERATORS):
        made = deployment(2)
        made.annotations["note"] = "hi"
        await cluster.client.create(made)
        await fake_clock.advance(1)
        (found,) = cluster.list(ReplicaSet)
        name = found.labels["pod-template-hash"]
        assert found.name == f"web-{name}"
        assert found.labels == {"app": "web", "pod-template-hash": name}
        assert found.spec.selector.match_labels == found.labels
        assert found.annotations == {
            "note": "hi",
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
        }
        assert only(cluster).annotations["deployment.kubernetes.io/revision"] == "1"
        assert only(cluster).generation == 1
        assert {pod.labels["pod-template-hash"] for pod in cluster.list(Pod)} == {name}


async def test_a_rollout_without_progress_fails_and_can_be_undone(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A bad image is reported at the deadline; the old pods keep running, and the old template restores everything."""
    async with node_and(cluster, *OPERATORS):
        web = await cluster.client.create(deployment(4, progress_deadline_seconds=30))
        await fake_clock.advance(1)
        web = await set_image(cluster, web, "broken", fail="ErrImagePull")
        await fake_clock.advance(25)
        assert condition(cluster, "Progressing")[1] == "ReplicaSetUpdated"
        await fake_clock.advance(10)
        status, reason, text = condition(cluster, "Progressing")
        assert (status, reason) == ("False", "ProgressDeadlineExceeded")
        assert text.endswith("has timed out progressing.")
        assert only(cluster).status.available_replicas == 3, "one may be missing"
        await cluster.client.patch(
            web,
            {
                "spec": {
                    "template": {
                        "metadata": {"annotations": None},
                        "spec": {"containers": [{"name": "main", "image": "one"}]},
                    }
                }
            },
        )
        await fake_clock.advance(5)
        assert condition(cluster, "Progressing")[1] == "NewReplicaSetAvailable"
        assert sizes(cluster) == [0, 4], "the revision that was taken back to is the newest now"
        assert only(cluster).annotations[deployments.REVISION] == "3"
        (history,) = [one.annotations.get("deployment.kubernetes.io/revision-history") for one in _newest(cluster)]
        assert history == "1"


def _newest(cluster: Cluster) -> list[ReplicaSet]:
    return [one for one in cluster.list(ReplicaSet) if one.annotations[deployments.REVISION] == "3"]


async def test_a_paused_rollout_waits_but_scales(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Pausing combines several changes in one rollout; meanwhile the Deployment can still be scaled."""
    async with node_and(cluster, *OPERATORS):
        web = await cluster.client.create(deployment(2))
        await fake_clock.advance(1)
        await cluster.client.patch(web, {"spec": {"paused": True}})
        await set_image(cluster, web, "two")
        await fake_clock.advance(1)
        assert len(cluster.list(ReplicaSet)) == 1
        assert condition(cluster, "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
        await cluster.client.scale(web, 4)
        await fake_clock.advance(3600)
        assert sizes(cluster) == [4]
        assert condition(cluster, "Progressing")[1] == "DeploymentPaused", "no time runs against it"
        await cluster.client.patch(web, {"spec": {"paused": False}})
        await fake_clock.advance(1)
        assert sizes(cluster) == [0, 4]
        assert condition(cluster, "Progressing")[1] == "NewReplicaSetAvailable"


async def test_recreate_never_has_old_and_new_pods_at_once(cluster: Cluster, fake_clock: FakeClock) -> None:
    """With Recreate two versions must not run at the same time."""
    images: list[set[str | None]] = []
    async with node_and(cluster, *OPERATORS), cluster.informer(Pod) as pods:
        made = deployment(3, strategy=DeploymentStrategy(type="Recreate"), script={"stop_after": "5s"})
        web = await cluster.client.create(made)
        await fake_clock.advance(1)

        def look(*_: Pod) -> None:
            images.append({pod.spec.containers[0].image for pod in pods.list()})

        pods.handle(added=look, updated=look, deleted=look)
        await set_image(cluster, web, "two")
        await fake_clock.advance(4)
        assert sizes(cluster) == [0], "the old ones are still ending"
        await fake_clock.advance(4)
        assert sizes(cluster) == [0, 3]
    assert {"one"} in images
    assert {"two"} in images
    assert {"one", "two"} not in images


async def test_old_revisions_are_limited(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Every template leaves a ReplicaSet behind: without a limit they would accumulate."""
    async with node_and(cluster, *OPERATORS):
        web = await cluster.client.create(deployment(1, revision_history_limit=2))
        for number in range(5):
            await set_image(cluster, web, f"image-{number}")
            await fake_clock.advance(2)
        revisions = sorted(int(one.annotations[deployments.REVISION]) for one in cluster.list(ReplicaSet))
        assert revisions == [4, 5, 6]


async def test_pods_count_only_after_min_ready_seconds(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Pods that crash soon after they become ready must not advance a rollout."""
    async with node_and(cluster, *OPERATORS):
        web = await cluster.client.create(deployment(2, min_ready_seconds=10, surge=1, unavailable=0))
        await fake_clock.advance(9)
        assert only(cluster).status.ready_replicas == 2
        assert only(cluster).status.available_replicas is None
        await fake_clock.advance(2)
        assert only(cluster).status.available_replicas == 2
        await set_image(cluster, web, "two")
        await fake_clock.advance(9)
        assert sizes(cluster) == [2, 1]
        await fake_clock.advance(15)
        assert sizes(cluster) == [0, 2]


async def test_scaling_during_a_rollout_keeps_proportions(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A load peak during a rollout must not create only pods of the new version, which is not proven yet."""
    async with node_and(cluster, *OPERATORS):
        web = await cluster.client.create(deployment(2))
        await fake_clock.advance(1)
        await set_image(cluster, web, "two", never_ready="true")
        await fake_clock.advance(1)
        assert sizes(cluster) == [2, 1]
        await cluster.client.scale(web, 4)
        await fake_clock.advance(1)
        assert sizes(cluster) == [3, 2], "what a real controller manager makes of the same"


async def test_rejected_pods_are_reported_and_retried(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The Deployment reports an exhausted quota, and the report ends with its cause."""
    async with node_and(cluster, *OPERATORS):
        cluster.faults.inject(Refuse(403, "Forbidden"), method="POST", path="/pods", times=3)
        await cluster.client.create(deployment(1))
        await fake_clock.advance(0.001)
        assert condition(cluster, "ReplicaFailure")[:2] == ("True", "FailedCreate")
        await fake_clock.advance(5)
        assert only(cluster).status.available_replicas == 1
        assert [one.type for one in only(cluster).status.conditions or ()].count("ReplicaFailure") == 0


async def test_a_lost_answer_does_not_cause_a_second_replica_set(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The server created it, but the answer was lost: it is found by its name."""
    async with node_and(cluster, *OPERATORS):
        cluster.faults.inject(Lose(), method="POST", path="/replicasets", times=1)
        cluster.faults.hold("/replicasets")
        await cluster.client.create(deployment(2))
        await fake_clock.advance(1)
        cluster.faults.release()
        await fake_clock.advance(5)
        assert sizes(cluster) == [2]
        assert only(cluster).status.collision_count is None


async def test_a_name_that_is_in_use_is_avoided(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Two templates may have the same hash: the second gets another name, and no pods of others are taken over."""
    async with node_and(cluster, *OPERATORS):
        web = deployment(1)
        await cluster.client.create(web)
        await fake_clock.advance(1)
        (first,) = cluster.list(ReplicaSet)
        await cluster.client.delete(only(cluster))
        await fake_clock.advance(1)
        assert cluster.list(ReplicaSet) == []
        await cluster.client.create(replica_set(0, name=first.name, selector=selector("x"), template=template(app="x")))
        await cluster.client.create(web)
        await fake_clock.advance(5)
        assert only(cluster).status.collision_count == 1
        assert only(cluster).status.available_replicas == 1
        assert {one.name for one in cluster.list(ReplicaSet)} > {first.name}
