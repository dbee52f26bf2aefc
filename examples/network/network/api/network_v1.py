"""Network, as samplecrd.k8s.io/v1: its definition, its schema and its permissions come from these classes."""

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
    """What a user asks for."""

    cidr: Annotated[str, MaxLength(43)]
    gateway: Annotated[str, MaxLength(39)]


@constrained(Opaque())
class NetworkStatus(Status):
    """What the operator saw: the provider's own name for the network, and the conditions Ready and Synced."""

    provider_id: str = field(default="", name="providerID")


@custom_resource("samplecrd.k8s.io/v1", api_approved="unapproved, experimental-only")
class Network(Resource[NetworkSpec, NetworkStatus]):
    """A network of the provider."""
