"""`Attributes`: one write, or one connection to a pod, as admission sees it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.options import WriteOptions
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is written, by whom, and the warnings of everything that has reviewed it so far."""

    request: ApiRequest
    operation: str
    #: The new object; ``None`` for a delete. The options of a connection.
    obj: JsonObject | None = field(repr=False)
    #: The live object; ``None`` for a create.
    old: JsonObject | None = field(repr=False)
    #: The options of the write; ``None`` for a connection.
    options: JsonObject | None
    dry_run: bool
    name: str
    warnings: tuple[str, ...] = ()
    #: The version of the resource in which a policy gets the objects; ``None`` for that of the request.
    matched: ServedResource | None = None

    @property
    def subresource(self) -> str:
        """The part of the object that is written; empty for the whole object."""
        return self.request.info.subresource

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of the objects: a subresource's may differ from its resource's."""
        served = self.request.served
        part = served.subresources.get(self.subresource)
        return part.kind if part is not None else served.resource.gvk

    def warned(self, warnings: Iterable[str]) -> "Attributes":
        """Return the same write with more warnings."""
        return replace(self, warnings=(*self.warnings, *warnings))

    @property
    def namespace(self) -> str:
        """The namespace of the request; that of a namespace is the namespace itself."""
        info = self.request.info
        return info.name if info.resource == "namespaces" else info.namespace

    @property
    def labels(self) -> list[dict[str, str]]:
        """The labels of the new object and of the live one."""
        documents = [document for document in (self.obj, self.old) if document is not None]
        return [(document.get("metadata") or {}).get("labels") or {} for document in documents]


def write_document(kind: str, options: WriteOptions, *, given_validation: str = "") -> JsonObject:
    """Return the options of a write in the form of an admission review."""
    document: JsonObject = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        document["dryRun"] = ["All"]
    if options.field_manager:
        document["fieldManager"] = options.field_manager
    if given_validation:
        document["fieldValidation"] = given_validation
    return document


def user_info(user: User) -> JsonObject:
    """Return a user in the form of an admission review."""
    document: JsonObject = {"username": user.name}
    if user.uid:
        document["uid"] = user.uid
    if user.groups:
        document["groups"] = list(user.groups)
    if user.extra:
        document["extra"] = {key: list(values) for key, values in user.extra}
    return document
