"""Foo, as samplecontroller.k8s.io/v1alpha1: the CRD and the RBAC permissions are derived from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Maximum, Minimum


class FooSpec(Model):
    """The wanted state."""

    deployment_name: str | None = None
    replicas: Annotated[int, Minimum(1), Maximum(10)] | None = None


class FooStatus(Status):
    """The observed state, with conditions."""

    available_replicas: int = 0


# The group belongs to the Kubernetes community, so the CRD must declare that it is not approved.
@custom_resource("samplecontroller.k8s.io/v1alpha1", api_approved="unapproved, experimental-only")
class Foo(Resource[FooSpec, FooStatus]):
    """A Deployment with a number of replicas."""
