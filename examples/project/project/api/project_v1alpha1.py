"""Project, as examples-gzh.com/v1alpha1: the CRD and the RBAC permissions are derived from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, Minimum, Scale


class ProjectSpec(Model):
    """The wanted state."""

    replicas: Annotated[int, Minimum(1)]


class ProjectStatus(Status):
    """The observed state, with conditions."""

    replicas: int = 0
    selector: str = ""


@custom_resource(
    "examples-gzh.com/v1alpha1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
    columns=[
        Column("Replicas", ".spec.replicas"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', type="string"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
)
class Project(Resource[ProjectSpec, ProjectStatus]):
    """A number of replicas, which run in a Deployment of the same name."""
