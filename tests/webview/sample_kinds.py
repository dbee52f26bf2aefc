"""The kind of the sample operator, declared as an author declares it."""

from typing import Annotated, Literal

from steersman.objects.model import Model
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.schema import Description, Maximum, Minimum, MinLength, Pattern, Rule, constrained, custom_resource

KINDS = Registry()


class Page(Model):
    """A page of a website."""

    path: Annotated[str, Pattern("^/"), Description("Where it is found.")]
    weight: Annotated[float, Minimum(0), Maximum(1)] = 1.0


@constrained(
    Rule("self.tier != 'premium' || self.replicas >= 2", "a premium website needs at least 2 replicas"),
)
class WebsiteSpec(Model):
    """The desired state of a website."""

    image: Annotated[str, MinLength(3), Description("The container image, with its tag.")]
    replicas: Annotated[int, Minimum(0), Maximum(50), Description("Pods that serve it.")] = 1
    tier: Annotated[Literal["basic", "premium"], Description("How much it may use.")] = "basic"
    pages: Annotated[list[Page], Description("Pages that are checked after a rollout.")] = []
    labels: Annotated[dict[str, str], Description("Labels of every pod.")] = {}


class WebsiteStatus(Status):
    """The observed state of a website."""

    ready_replicas: Annotated[int, Description("Pods that serve it now.")] = 0


@custom_resource("shop.example.com/v1", kind="Website", storage=True, into=KINDS)
class Website(Resource[WebsiteSpec, WebsiteStatus]):
    """A website of the shop."""
