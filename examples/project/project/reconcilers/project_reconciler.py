"""The reconciler of Project: a Deployment of the same name, unless that name is taken by another one."""

from steersman import Context, Watch, meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec
from steersman.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector

from project.api.project_v1alpha1 import Project
from project.operator import operator


@operator.reconciler(Project, owns=[Deployment], watches=[Watch(Deployment, to=lambda deployment: [deployment.key])])
async def reconcile(project: Project, ctx: Context[Project]) -> None:
    """Apply the Deployment. One that does not belong to the Project is left alone until it is deleted."""
    name, namespace = project.name, project.namespace
    # The server is asked before the first apply: a Deployment that was just created is not in the cache yet.
    before = await ctx.get(Deployment, name) or await ctx.client.try_get(Deployment, name, namespace)
    if before is not None and not before.is_controlled_by(project):
        message = f"the Deployment {name} does not belong to this Project: delete it, or rename the Project"
        if ctx.condition("Ready", False, "NotControlledByUs", message):
            ctx.event("NotControlledByUs", message, kind="Warning")
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
    """Return the wanted Deployment."""
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
