"""Project, as examples-gzh.com/v1alpha1: its definition, its schema and its permissions come from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, Minimum, Scale


class ProjectSpec(Model):
    """What a user asks for."""

    replicas: Annotated[int, Minimum(1)]


class ProjectStatus(Status):
    """What the operator saw; conditions come with it."""

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
    """Something that runs a number of times, in a Deployment of its name."""
