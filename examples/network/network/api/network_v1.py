"""Network, as samplecrd.k8s.io/v1: the CRD and the RBAC permissions are derived from these classes."""

from typing import Annotated

from steersman import Model, Resource, Status, custom_resource, field
from steersman.schema import MaxLength, Opaque, Rule, constrained


@constrained(
    Rule("isCIDR(self.cidr)", "cidr must be a valid CIDR"),
    Rule("isIP(self.gateway)", "gateway must be an IP"),
    Rule(
        "!isCIDR(self.cidr) || !isIP(self.gateway) || cidr(self.cidr).containsIP(self.gateway)",
        "gateway must lie inside cidr",
    ),
    Rule("self.cidr == oldSelf.cidr", "cidr is immutable"),
)
class NetworkSpec(Model):
    """The wanted state."""

    cidr: Annotated[str, MaxLength(43)]
    gateway: Annotated[str, MaxLength(39)]


@constrained(Opaque())
class NetworkStatus(Status):
    """The observed state: the provider's id of the network, and the conditions Ready and Synced."""

    provider_id: str = field(default="", name="providerID")


@custom_resource("samplecrd.k8s.io/v1", api_approved="unapproved, experimental-only")
class Network(Resource[NetworkSpec, NetworkStatus]):
    """A network of the provider."""
