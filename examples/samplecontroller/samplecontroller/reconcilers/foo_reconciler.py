"""The reconciler of Foo: the Deployment that it names."""

from steersman import AlreadyOwned, Blocked, Context, Permanent, meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec
from steersman.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from samplecontroller.api.foo_v1alpha1 import Foo
from samplecontroller.operator import operator


@operator.reconciler(Foo, owns=[Deployment])
async def reconcile(foo: Foo, ctx: Context[Foo]) -> None:
    """Apply the Deployment. One that belongs to another owner is left alone until it is deleted."""
    name = foo.spec.deployment_name
    if not name:
        raise Permanent("DeploymentNameMissing", "spec.deploymentName is required: the name of the Deployment")
    before = await ctx.get(Deployment, name)
    try:
        deployment = await ctx.apply(deployment_of(foo, name))
    except AlreadyOwned as error:
        message = f"the Deployment {name} exists and is not managed by this Foo"
        raise Blocked("ErrResourceExists", message, kind=Deployment, name=name) from error
    await ctx.prune(Deployment)
    if before is None or before.generation != deployment.generation:
        ctx.event("Synced", f"the Deployment {name} matches this Foo")
    foo.status.available_replicas = available = deployment.status.available_replicas or 0
    wanted = deployment.spec.replicas or 0
    is_ready = available >= wanted
    ctx.condition("Ready", is_ready, "Available" if is_ready else "NotAvailable", f"{available} of {wanted} available")


def deployment_of(foo: Foo, name: str) -> Deployment:
    """Return the wanted Deployment. Without spec.replicas the Foo does not own that field."""
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
