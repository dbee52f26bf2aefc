"""Custom resources as an author writes them, in a registry of their own."""

from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.model import Model, field, sparse
from steersman.objects.registry import Registry, declare
from steersman.objects.resource import Resource, Status

TEST_KINDS = Registry()


class BoatSpec(Model):
    """One field that the author must set, and one of each other sort."""

    length: int
    sails: int = 2
    cluster_ip: str | None = field(default=None, name="clusterIP")
    crew: list[str] = sparse(list)
    cargo: list[str] = field(default_factory=list)


class BoatStatus(Status):
    """A status that begins empty."""

    position: str | None = None
    knots: int = 0


@declare(
    ApiResource(
        gvk=GroupVersionKind("example.com", "v1", "Boat"),
        plural="boats",
        singular="boat",
        subresources=frozenset({"status"}),
    ),
    into=TEST_KINDS,
)
class Boat(Resource[BoatSpec, BoatStatus]):
    """A kind whose spec is demanded."""


class BuoySpec(Model):
    """A spec that needs nothing."""

    colour: str = "red"


@declare(ApiResource(gvk=GroupVersionKind("example.com", "v1", "Buoy"), plural="buoys"), into=TEST_KINDS)
class Buoy(Resource[BuoySpec, BoatStatus]):
    """A kind that may be nothing but its metadata."""
