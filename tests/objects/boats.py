"""Custom resources as an author declares them, in a separate registry."""

from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.model import Model, field, sparse
from steersman.objects.registry import Registry, declare
from steersman.objects.resource import Resource, Status

TEST_KINDS = Registry()


class BoatSpec(Model):
    """One required field, and one of each other sort."""

    length: int
    sails: int = 2
    cluster_ip: str | None = field(default=None, name="clusterIP")
    crew: list[str] = sparse(list)
    cargo: list[str] = field(default_factory=list)


class BoatStatus(Status):
    """A status that is empty at first."""

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
    """A kind whose spec is required."""


class BuoySpec(Model):
    """A spec without required fields."""

    colour: str = "red"


@declare(ApiResource(gvk=GroupVersionKind("example.com", "v1", "Buoy"), plural="buoys"), into=TEST_KINDS)
class Buoy(Resource[BuoySpec, BoatStatus]):
    """A kind that may consist of metadata alone."""
