"""What the operator does for a Foo: the Deployment that it names, as it should be."""

from steersman import Chosen, Context, Permanent, meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec
from steersman.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from samplecontroller.api.foo_v1alpha1 import Foo
from samplecontroller.operator import operator


def names(foo: Foo, deployment: Deployment) -> bool:
    """Tell whether a Foo asks for a Deployment of that name, whoever made it."""
    return foo.spec.deployment_name == deployment.name


@operator.reconciler(Foo, owns=[Deployment], watches=[Chosen(Deployment, by=names)])
async def reconcile(foo: Foo, ctx: Context[Foo]) -> None:
    """Keep the Deployment as the Foo says. One that somebody else made is left alone, until it is gone."""
    name = foo.spec.deployment_name
    if not name:
        raise Permanent("DeploymentNameMissing", "spec.deploymentName must say what the Deployment is called")
    # Before one is made the server itself is asked: what somebody made a moment ago is not in the cache yet.
    before = await ctx.get(Deployment, name) or await ctx.client.try_get(Deployment, name, foo.namespace)
    if before is not None and not before.is_controlled_by(foo):
        told = f"the Deployment {name} exists and is not managed by this Foo"
        if ctx.condition("Ready", False, "ErrResourceExists", told):
            ctx.event("ErrResourceExists", told, kind="Warning")
        return
    deployment = await ctx.apply(deployment_of(foo, name))
    await ctx.prune(Deployment)
    if before is None or before.generation != deployment.generation:
        ctx.event("Synced", f"the Deployment {name} is as this Foo says")
    foo.status.available_replicas = available = deployment.status.available_replicas or 0
    wanted = deployment.spec.replicas or 0
    is_ready = available >= wanted
    ctx.condition("Ready", is_ready, "Available" if is_ready else "NotAvailable", f"{available} of {wanted} available")


def deployment_of(foo: Foo, name: str) -> Deployment:
    """Say what is wanted. Where the Foo names no number, it is not the Foo's."""
    labels = {"app": "nginx", "controller": foo.name}
    return Deployment(
        meta(name),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=meta(labels=labels),
                spec=PodSpec(containers=[Container(name="nginx", image="nginx:latest")]),
            ),
        ),
    )
