"""What the operator does for a Project: a Deployment of its name, and nothing with anybody else's."""

from steersman import Context, Watch, meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec
from steersman.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from project.api.project_v1alpha1 import Project
from project.operator import operator


@operator.reconciler(Project, owns=[Deployment], watches=[Watch(Deployment, to=lambda deployment: [deployment.key])])
async def reconcile(project: Project, ctx: Context[Project]) -> None:
    """Keep the Deployment as the Project says. One that somebody else made is left alone, until it is gone."""
    name, namespace = project.name, project.namespace
    # Before one is made the server itself is asked: what somebody made a moment ago is not in the cache yet.
    before = await ctx.get(Deployment, name) or await ctx.client.try_get(Deployment, name, namespace)
    if before is not None and not before.is_controlled_by(project):
        told = f"the Deployment {name} was not made for this Project: delete it, or name the Project otherwise"
        if ctx.condition("Ready", False, "NotControlledByUs", told):
            ctx.event("NotControlledByUs", told, kind="Warning")
        return
    deployment = await ctx.apply(deployment_of(project))
    wanted, available = project.spec.replicas, deployment.status.available_replicas or 0
    if before is None:
        ctx.event("Created", f"created the Deployment {name}")
    elif before.spec.replicas != wanted:
        ctx.event("Scaled", f"scaled from {before.spec.replicas} to {wanted}")
    project.status.replicas = deployment.status.replicas or 0
    project.status.selector = f"project={name}"
    is_ready = available >= wanted
    ctx.condition("Ready", is_ready, "Available" if is_ready else "NotAvailable", f"{available} of {wanted} available")


def deployment_of(project: Project) -> Deployment:
    """Say what is wanted."""
    labels = {"project": project.name}
    container = Container(name="project", image="nginx:stable")
    return Deployment(
        meta(project.name, labels=labels),
        spec=DeploymentSpec(
            replicas=project.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=meta(labels=labels), spec=PodSpec(containers=[container])),
        ),
    )
