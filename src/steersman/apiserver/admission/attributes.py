"""`Attributes`: one write as admission sees it."""

from dataclasses import dataclass, field
from typing import Any

from steersman.apiserver.messages.api_request import Call, User
from steersman.apiserver.messages.options import WriteOptions
from steersman.objects.identity import GroupVersionKind

Document = dict[str, Any]
CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True)
class Attributes:
    """What is done, by whom, to what."""

    call: Call
    operation: str
    #: The object as it is to be; ``None`` when it is to go.
    obj: Document | None = field(repr=False)
    #: The object as it is; ``None`` when it is new.
    old: Document | None = field(repr=False)
    options: Document
    dry_run: bool = False
    #: The kind of the objects: a subresource's may differ from its resource's.
    kind: GroupVersionKind = field(init=False)
    subresource: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        served = self.call.served
        self.subresource = self.call.info.subresource
        part = served.subresources.get(self.subresource)
        self.kind = part.kind if part is not None else served.resource.gvk
        self.name = self.name or self.call.info.name

    @property
    def namespace(self) -> str:
        """The namespace of the request; a namespace lies in itself."""
        info = self.call.info
        return info.name if info.resource == "namespaces" else info.namespace

    @property
    def labels(self) -> list[dict[str, str]]:
        """The labels of the object as it is to be, and as it is."""
        documents = [document for document in (self.obj, self.old) if document is not None]
        return [(document.get("metadata") or {}).get("labels") or {} for document in documents]


def write_document(kind: str, options: WriteOptions, *, given_validation: str = "") -> Document:
    """Give the options of a write as reviews tell them."""
    document: Document = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        document["dryRun"] = ["All"]
    if options.field_manager:
        document["fieldManager"] = options.field_manager
    if given_validation:
        document["fieldValidation"] = given_validation
    return document


def user_info(user: User) -> Document:
    """Give a user as reviews tell about them."""
    told: Document = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = list(user.groups)
    if user.extra:
        told["extra"] = {key: list(values) for key, values in user.extra}
    return told
