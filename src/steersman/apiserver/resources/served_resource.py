"""`ServedResource`: one resource in one version, with everything that a request to it needs to know."""

from dataclasses import dataclass, field

from steersman.apiserver.resources.strategy import Strategy
from steersman.apiserver.status import (
    MODIFIED,
    Refusal,
    already_exists,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.validation.field_errors import FieldError

#: Verbs of most resources.
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object that is served under a path of its own."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(slots=True)
class ServedResource:
    """One resource in one version."""

    resource: ApiResource
    strategy: Strategy
    verbs: frozenset[str]
    subresources: dict[str, Subresource] = field(default_factory=dict)
    builtin: bool = True
    #: The name under which objects are stored, shared by all versions of a resource.
    stored_as: str = ""
    #: The version in which they are stored.
    stored_version: str = ""
    #: A warning in every response: the version is deprecated.
    deprecation: str = ""
    #: ``{"kind":…,"apiVersion":…,`` as every stored object of this version begins.
    prefix: bytes = b""
    group: str = ""
    version: str = ""
    plural: str = ""
    kind: str = ""
    namespaced: bool = True
    api_version: str = ""
    list_kind: str = ""
    #: Whether objects are stored as this version serves them.
    is_stored_form: bool = True
    #: Whether a webhook converts objects to and from the stored version.
    is_converted: bool = False

    def __post_init__(self) -> None:
        gvk = self.resource.gvk
        self.group, self.version, self.kind = gvk
        self.plural = self.resource.plural
        self.namespaced = self.resource.namespaced
        self.api_version = gvk.api_version
        self.list_kind = self.list_kind or self.resource.list_kind
        self.stored_as = self.stored_as or self.resource.gvr.group_resource
        self.stored_version = self.stored_version or self.version
        own_name = self.stored_as == self.resource.gvr.group_resource
        self.is_stored_form = own_name and self.stored_version == self.version
        self.prefix = (
            f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()
            if self.builtin
            else f'{{"apiVersion":"{self.api_version}","kind":"{self.kind}",'.encode()
        )

    def not_found(self, name: str) -> Refusal:
        """404: there is no such object."""
        return not_found(self.plural, self.group, name)

    def already_exists(self, name: str) -> Refusal:
        """409: the name is taken."""
        return already_exists(self.plural, self.group, name)

    def modified(self, name: str) -> Refusal:
        """409: the object changed since it was read."""
        return conflict(self.plural, self.group, name, MODIFIED)

    def conflict(self, name: str, why: str) -> Refusal:
        """409: the object is not in the state that the request assumes."""
        return conflict(self.plural, self.group, name, why)

    def forbidden(self, name: str, why: str) -> Refusal:
        """403: the user may not do it."""
        return forbidden(self.plural, self.group, name, why)

    def invalid(self, name: str, errors: list[FieldError], kind: str = "") -> Refusal:
        """422: the object is invalid."""
        # Events of both groups are one kind to Kubernetes' own validation.
        group = "" if self.builtin and self.group == "events.k8s.io" else self.group
        return invalid(kind or self.kind, group, name, errors)
