"""`Scope`: which objects of a declared kind are cached, and how much of each."""

from collections.abc import Sequence

from msgspec import Struct

from steersman.errors import DeclarationError, SteersmanError
from steersman.informer.informer import Selection
from steersman.objects.identity import ApiResource
from steersman.objects.selectors import FieldSelector, LabelSelector


class Scope(Struct, frozen=True, kw_only=True):
    """The part of a kind that a reconciler needs. Without any setting: all objects of the operator's namespaces."""

    #: Only objects of these namespaces; none of them means those of the operator. The RBAC role follows.
    namespaces: Sequence[str] = ()
    #: Only objects with these labels, such as ``app=web,tier in (a,b)``.
    selector: str = ""
    #: Only objects with these fields, such as ``type=kubernetes.io/tls``; the API server allows few fields.
    field_selector: str = ""
    #: Cache the metadata alone. ``None`` decides by the kind.
    metadata_only: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.namespaces, str):
            raise DeclarationError(f"namespaces is a list: write namespaces=[{self.namespaces!r}]")
        try:
            LabelSelector.parse(self.selector)
            FieldSelector.parse(self.field_selector)
        except SteersmanError as error:
            raise DeclarationError(str(error)) from None

    @property
    def is_limited(self) -> bool:
        """Whether the author has limited what is cached."""
        return bool(self.namespaces or self.selector or self.field_selector) or self.metadata_only is not None

    def check(self, resource: ApiResource) -> None:
        """Raise ``DeclarationError`` for a scope that a kind cannot have."""
        if self.namespaces and not resource.namespaced:
            raise DeclarationError(f"{resource.gvk} is cluster-scoped: remove namespaces={list(self.namespaces)}")

    def is_metadata_only(self, resource: ApiResource) -> bool:
        """Return whether only the metadata of a kind is cached."""
        del resource
        return bool(self.metadata_only)

    def label_selector(self) -> LabelSelector:
        """Return the labels of the objects that are cached."""
        return LabelSelector.parse(self.selector)

    def selection(self, resource: ApiResource, namespaces: tuple[str, ...]) -> Selection:
        """Return what the cache of a kind selects; ``namespaces`` are those of the operator."""
        return Selection(
            namespaces=(tuple(self.namespaces) or namespaces) if resource.namespaced else (),
            label_selector=str(self.label_selector()),
            field_selector=self.field_selector,
            metadata_only=self.is_metadata_only(resource),
        )


EVERYTHING = Scope()
