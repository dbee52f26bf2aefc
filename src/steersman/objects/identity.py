"""The identity of an object: its kind, its resource, its key."""

import re
from typing import NamedTuple, Self

from msgspec import Struct

from steersman.errors import DeclarationError


class GroupVersion(NamedTuple):
    """An API group and version; the core group's name is empty."""

    group: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``v1`` or ``apps/v1``."""
        group, slash, version = text.rpartition("/")
        if not version or "/" in group or (slash and not group):
            raise ValueError(f"not an apiVersion: {text!r} (write 'v1' or 'example.com/v1')")
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupVersionKind(NamedTuple):
    """The full name of a kind."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> Self:
        """Build from the two fields that every object carries."""
        return cls(*GroupVersion.parse(api_version), kind)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version without the kind."""
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` field of such an object."""
        return str(self.group_version)

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}" if self.group else f"{self.kind}.{self.version}"


class GroupVersionResource(NamedTuple):
    """The full name of a resource: where objects of a kind are served."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        """The group and version without the resource."""
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> str:
        """``deployments.apps``, as error messages name it; core resources have no group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        return f"{self.resource}.{self.version}.{self.group}" if self.group else f"{self.resource}.{self.version}"


class ObjectKey(NamedTuple):
    """Namespace and name of one object among those of its kind; the namespace of cluster-scoped objects is empty."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``namespace/name``, or ``name`` for cluster-scoped objects."""
        namespace, _, name = text.rpartition("/")
        if not name or "/" in namespace:
            raise ValueError(f"not an object key: {text!r} (write 'namespace/name' or 'name')")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


_DNS_1035_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


class ApiResource(Struct, frozen=True, kw_only=True):
    """How a kind is served: its names, its scope and its subresources."""

    gvk: GroupVersionKind
    plural: str
    singular: str = ""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not _DNS_1035_LABEL.fullmatch(self.plural):
            raise DeclarationError(
                f"{self.gvk}: plural {self.plural!r} must be a DNS label: lower-case letters, digits and '-'"
            )

    @property
    def gvr(self) -> GroupVersionResource:
        """Where objects of this kind are served."""
        return GroupVersionResource(self.gvk.group, self.gvk.version, self.plural)

    @property
    def list_kind(self) -> str:
        """The kind of a list of such objects."""
        return f"{self.gvk.kind}List"
