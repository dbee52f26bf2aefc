"""One change end to end, as an author of an operator sees it: declare, run, create, and watch the result."""

from typing import Annotated

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.objects.model import sparse
from steersman.schema import Column, Maximum, Minimum, Scale
from steersman.testing.cluster import Cluster


class CustomPodSpec(Model):
    """The desired number of pods."""

    replicas: Annotated[int, Minimum(0), Maximum(100)]


class CustomPodStatus(Status):
    """The actual number of pods."""

    replicas: int = 0
    pod_names: list[str] = sparse(list)


@custom_resource(
    "skeleton.example.com/v1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas"),
    columns=[Column("Replicas", ".status.replicas")],
)
class CustomPod(Resource[CustomPodSpec, CustomPodStatus]):
    """A custom resource that keeps a number of pods running."""


operator = Operator("custompod")


@operator.reconciler(CustomPod, owns=[Pod])
async def reconcile(custom_pod: CustomPod, ctx: Context[CustomPod]) -> None:
    """Create or delete pods until there are as many as desired."""
    pods = sorted(ctx.owned(Pod), key=lambda pod: pod.name)
    for _ in range(custom_pod.spec.replicas - len(pods)):
        container = Container(name="main", image="busybox")
        await ctx.create(Pod(meta(generate_name=f"{custom_pod.name}-"), spec=PodSpec(containers=[container])))
    for pod in pods[custom_pod.spec.replicas :]:
        await ctx.delete(pod)
    custom_pod.status.replicas = len(pods)
    custom_pod.status.pod_names = [pod.name for pod in pods]


@reconcile.cleanup
async def cleanup(custom_pod: CustomPod, ctx: Context[CustomPod]) -> None:
    """Record an event about the cleanup."""
    ctx.event("Goodbye", f"{custom_pod.name} is going")


async def test_from_a_custom_resource_to_its_status() -> None:
    """Create, scale, repair, delete: all parts of the framework work together."""
    async with Cluster.start() as cluster, cluster.running(operator):
        created = await cluster.client.create(CustomPod(meta("a"), CustomPodSpec(replicas=3)))
        await cluster.eventually(lambda: len(cluster.list(Pod)) == 3)
        await cluster.eventually(lambda: cluster.list(CustomPod)[0].status.replicas == 3)
        await cluster.client.delete(cluster.list(Pod)[0])
        await cluster.eventually(lambda: len(cluster.list(Pod)) == 3)
        await cluster.client.scale(created, 1)
        await cluster.eventually(lambda: len(cluster.list(Pod)) == 1)
        await cluster.eventually(lambda: len(cluster.list(CustomPod)[0].status.pod_names) == 1)
        await cluster.client.delete(created)
        await cluster.eventually(lambda: cluster.list(CustomPod) == [])
