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
    """The spec of v1."""

    copies: Annotated[int, Minimum(0)] = 1
    domain: str = "example.com"
    color: str | None = None
    pages: list[PageSpec] = []
    memory: Quantity | None = None
    timeout: Duration | None = None


class WebsiteStatus(Status):
    """The status of v1."""

    copies: int = 0


class BetaSpec(Model):
    """The spec of v1beta1."""

    replicas: Annotated[int, Minimum(0)] = 1
    host: str = "example.com"
    pages: list[PageSpec] = []
    memory: Quantity | None = None
    timeout: Duration | None = None


class BetaStatus(Status):
    """The status of v1beta1."""

    replicas: int = 0


class AlphaSpec(Model):
    """The spec of v1alpha1."""

    words: list[str] = []
    domain: str = "example.com"


@custom_resource(f"{GROUP}/v1", kind="Website", storage=True, into=KINDS)
class Website(Resource[WebsiteSpec, WebsiteStatus]):
    """A website."""


@custom_resource(f"{GROUP}/v1beta1", kind="Website", deprecated=True, into=KINDS)
class BetaWebsite(Resource[BetaSpec, BetaStatus]):
    """A website in v1beta1."""


@custom_resource(f"{GROUP}/v1alpha1", kind="Website", served=False, into=KINDS)
class AlphaWebsite(Resource[AlphaSpec, WebsiteStatus]):
    """A website in v1alpha1."""


renames(
    BetaWebsite,
    Website,
    {".spec.replicas": ".spec.copies", ".spec.host": ".spec.domain", ".status.replicas": ".status.copies"},
    keeps=[".spec.color"],
)


@converts(AlphaWebsite, Website)
def from_alpha(old: AlphaWebsite) -> Website:
    """Convert each word to a page."""
    pages = [PageSpec(text=word) for word in old.spec.words]
    return Website(old.metadata, WebsiteSpec(copies=1, domain=old.spec.domain, pages=pages), old.status)


@converts(Website, AlphaWebsite, keeps=[".spec.copies", ".spec.color", ".spec.pages", ".spec.memory", ".spec.timeout"])
def to_alpha(new: Website) -> AlphaWebsite:
    """Convert pages to their words."""
    words = [page.text for page in new.spec.pages]
    return AlphaWebsite(
        ObjectMeta(labels=new.labels, annotations=new.annotations),
        AlphaSpec(words=words, domain=new.spec.domain),
        new.status,
    )
