"""Foo, as samplecontroller.k8s.io/v1alpha1: its definition, its schema and its permissions come from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Maximum, Minimum


class FooSpec(Model):
    """What a user asks for."""

    deployment_name: str | None = None
    replicas: Annotated[int, Minimum(1), Maximum(10)] | None = None


class FooStatus(Status):
    """What the operator saw; conditions come with it."""

    available_replicas: int = 0


# The group is one of the Kubernetes community's own, so the definition must say that nobody there has approved it.
@custom_resource("samplecontroller.k8s.io/v1alpha1", api_approved="unapproved, experimental-only")
class Foo(Resource[FooSpec, FooStatus]):
    """A Deployment by another name."""
