"""A kind in three versions: v1 is stored, v1beta1 has other names and fewer fields, v1alpha1 only a list of words."""

from typing import Annotated

from steersman.objects.meta import ObjectMeta
from steersman.objects.model import Model
from steersman.objects.quantity import Quantity
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.objects.times import Duration
from steersman.schema import Minimum, converts, custom_resource, renames

GROUP = "web.example.com"
KINDS = Registry()


class PageSpec(Model):
    """A page."""

    text: str
    weight: float = 1.0


class WebsiteSpec(Model):
    """What v1 asks for."""

    copies: Annotated[int, Minimum(0)] = 1
    domain: str = "example.com"
    color: str | None = None
    pages: list[PageSpec] = []
    memory: Quantity | None = None
    timeout: Duration | None = None


class WebsiteStatus(Status):
    """What v1 tells."""

    copies: int = 0


class BetaSpec(Model):
    """What v1beta1 asks for."""

    replicas: Annotated[int, Minimum(0)] = 1
    host: str = "example.com"
    pages: list[PageSpec] = []
    memory: Quantity | None = None
    timeout: Duration | None = None


class BetaStatus(Status):
    """What v1beta1 tells."""

    replicas: int = 0


class AlphaSpec(Model):
    """What v1alpha1 asks for."""

    words: list[str] = []
    domain: str = "example.com"


@custom_resource(f"{GROUP}/v1", kind="Website", storage=True, into=KINDS)
class Website(Resource[WebsiteSpec, WebsiteStatus]):
    """A website."""


@custom_resource(f"{GROUP}/v1beta1", kind="Website", deprecated=True, into=KINDS)
class BetaWebsite(Resource[BetaSpec, BetaStatus]):
    """A website, as it was."""


@custom_resource(f"{GROUP}/v1alpha1", kind="Website", served=False, into=KINDS)
class AlphaWebsite(Resource[AlphaSpec, WebsiteStatus]):
    """A website, as it began."""


renames(
    BetaWebsite,
    Website,
    {".spec.replicas": ".spec.copies", ".spec.host": ".spec.domain", ".status.replicas": ".status.copies"},
    keeps=[".spec.color"],
)


@converts(AlphaWebsite, Website)
def from_alpha(old: AlphaWebsite) -> Website:
    """Make a page of each word."""
    pages = [PageSpec(text=word) for word in old.spec.words]
    return Website(old.metadata, WebsiteSpec(copies=1, domain=old.spec.domain, pages=pages), old.status)


@converts(Website, AlphaWebsite, keeps=[".spec.copies", ".spec.color", ".spec.pages", ".spec.memory", ".spec.timeout"])
def to_alpha(new: Website) -> AlphaWebsite:
    """Keep the words."""
    words = [page.text for page in new.spec.pages]
    return AlphaWebsite(
        ObjectMeta(labels=new.labels, annotations=new.annotations),
        AlphaSpec(words=words, domain=new.spec.domain),
        new.status,
    )
