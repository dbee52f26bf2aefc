"""All parts of a cluster beside its API server, running together."""

from steersman.controller.context import Context
from steersman.kinds.apps_v1 import DaemonSet, Deployment, StatefulSet
from steersman.kinds.batch_v1 import CronJob, CronJobSpec, JobSpec, JobTemplateSpec
from steersman.kinds.core_v1 import Pod, Service, ServicePort, ServiceSpec
from steersman.localcluster.local_cluster import controllers, local_operators
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.manager.operator import Operator
from steersman.manager.rbac import grants_of
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import daemon_set, deployment, job, stateful_set, template


async def test_an_idle_cluster_writes_nothing_but_leases(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A cluster that is idle for half an hour must not keep a laptop busy."""
    async with cluster.running(*local_operators()):
        await cluster.client.create(deployment(3))
        await cluster.client.create(stateful_set(2))
        await cluster.client.create(daemon_set())
        await cluster.client.create(job())
        await cluster.client.create(
            Service(meta("web"), spec=ServiceSpec(selector={"app": "web"}, ports=[ServicePort(port=80)]))
        )
        made = JobTemplateSpec(spec=JobSpec(template=template(app="cron", restart="Never")))
        await cluster.client.create(CronJob(meta("tick"), spec=CronJobSpec(schedule="@daily", job_template=made)))
        await fake_clock.advance(60)
        assert cluster.list(Deployment)[0].status.available_replicas == 3
        assert cluster.list(StatefulSet)[0].status.available_replicas == 2
        assert cluster.list(DaemonSet)[0].status.number_available == 1
        cluster.faults.clear()
        await fake_clock.advance(30 * 60)
        written = [str(write) for write in cluster.faults.writes()]
        assert [write for write in written if "/leases/simulated" not in write] == []
        assert len(written) == 180


async def test_an_operator_runs_with_the_controllers(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The purpose of the cluster: an operator that creates Deployments sees their pods start."""
    ready: list[int] = []
    operator = Operator("mine")

    @operator.reconciler(Deployment, when=lambda _: True)
    async def reconcile(web: Deployment, _ctx: Context[Deployment]) -> None:
        ready.append(web.status.ready_replicas or 0)

    async with cluster.running(*local_operators(), operator):
        await cluster.client.create(deployment(2, script={"ready_after": "2s"}))
        await fake_clock.advance(3)
        assert ready[-1] == 2
        assert len(cluster.list(Pod)) == 2


def test_another_node_can_replace_the_simulated_one() -> None:
    """A process node, or a node of the user."""
    mine = simulated_node("mine")
    assert local_operators(node=mine) == (*controllers(), mine)


def test_no_controller_has_permissions_for_everything() -> None:
    """They are examples, too: each requests what it needs, by name."""
    for operator in local_operators():
        for grant in grants_of(operator):
            assert grant.resource, operator
            assert "*" not in (*grant.verbs, grant.resource, grant.group), operator
