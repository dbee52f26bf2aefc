"""Every verb of the Kubernetes API as a ``Request`` value: built here, sent elsewhere."""

import re
from enum import StrEnum
from urllib.parse import quote

from steersman.objects.identity import ApiResource, ObjectKey
from steersman.protocol.http import Request
from steersman.protocol.options import (
    ApplyOptions,
    DeleteOptions,
    ExecOptions,
    GetOptions,
    ListOptions,
    LogOptions,
    WatchOptions,
    WriteOptions,
)

JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

#: Names that need neither a second look nor escaping: nearly all.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]*")
#: Characters beside these are escaped, as Go escapes paths.
_SAFE = ":@!$&'()*+,;=~"


class PatchType(StrEnum):
    """How a patch is written; the value is its content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


_NO_GET_OPTIONS = GetOptions()
_NO_LIST_OPTIONS = ListOptions()
_NO_WRITE_OPTIONS = WriteOptions()
_NO_DELETE_OPTIONS = DeleteOptions()
_NO_LOG_OPTIONS = LogOptions()


class Requests:
    """Builds the requests about one resource. Bodies are passed as bytes; an empty namespace means all of them.

    ``metadata_only`` requests objects without their content, where objects are read.
    """

    __slots__ = ("_accept", "_accept_list", "_named", "_prefix", "_suffix", "resource")

    def __init__(self, resource: ApiResource, *, metadata_only: bool = False) -> None:
        gvk = resource.gvk
        root = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
        self.resource = resource
        #: A path is prefix + namespace + suffix + name, where a namespace is named; else suffix of the root + name.
        self._prefix = f"{root}/namespaces/"
        self._suffix = f"/{resource.plural}"
        self._named = f"{root}/{resource.plural}"
        self._accept = _METADATA if metadata_only else JSON
        self._accept_list = _METADATA_LIST if metadata_only else JSON

    def __repr__(self) -> str:
        return f"<Requests {self._named}>"

    # Reading.

    def get(self, key: ObjectKey, options: GetOptions = _NO_GET_OPTIONS, *, subresource: str = "") -> Request:
        """Read an object, or one of its subresources."""
        return Request("GET", self._object_path(key, subresource) + options.query, {"accept": self._accept})

    def list(self, namespace: str, options: ListOptions = _NO_LIST_OPTIONS) -> Request:
        """Read objects of one namespace or of all."""
        return Request("GET", self._collection_path(namespace) + options.query, {"accept": self._accept_list})

    def watch(self, namespace: str, options: WatchOptions) -> Request:
        """Watch the changes of objects of one namespace or of all."""
        return Request("GET", self._collection_path(namespace) + options.query, {"accept": self._accept})

    def log(self, key: ObjectKey, options: LogOptions = _NO_LOG_OPTIONS) -> Request:
        """Read the log of a pod's container; the answer is text."""
        return Request("GET", self._object_path(key, "log") + options.query, {"accept": "*/*"})

    def execute(self, key: ObjectKey, options: ExecOptions) -> Request:
        """Run a command inside a pod's container; the connection is to be upgraded to a WebSocket."""
        return Request("GET", self._object_path(key, "exec") + options.query, {})

    def forward_port(self, key: ObjectKey) -> Request:
        """Connect to ports of a pod; the connection is to be upgraded to a WebSocket."""
        return Request("GET", self._object_path(key, "portforward"), {})

    # Writing.

    def create(self, namespace: str, body: bytes, options: WriteOptions = _NO_WRITE_OPTIONS) -> Request:
        """Create an object."""
        if self.resource.namespaced and not namespace:
            raise ValueError(f"{self.resource.gvk.kind} is namespaced: creating one needs a namespace")
        return _with_body("POST", self._collection_path(namespace) + options.query, body)

    def create_subresource(
        self, key: ObjectKey, subresource: str, body: bytes, options: WriteOptions = _NO_WRITE_OPTIONS
    ) -> Request:
        """Create something about an object: an eviction, a token, a binding."""
        return _with_body("POST", self._object_path(key, subresource) + options.query, body)

    def update(
        self, key: ObjectKey, body: bytes, options: WriteOptions = _NO_WRITE_OPTIONS, *, subresource: str = ""
    ) -> Request:
        """Replace an object or one of its subresources as a whole."""
        return _with_body("PUT", self._object_path(key, subresource) + options.query, body)

    def patch(
        self,
        key: ObjectKey,
        patch_type: PatchType,
        body: bytes,
        options: WriteOptions | ApplyOptions = _NO_WRITE_OPTIONS,
        *,
        subresource: str = "",
    ) -> Request:
        """Change parts of an object or of one of its subresources; ``PatchType.APPLY`` needs ``ApplyOptions``."""
        if (patch_type is PatchType.APPLY) is not isinstance(options, ApplyOptions):
            raise ValueError(f"{patch_type.name} patches do not take {type(options).__name__}")
        return _with_body("PATCH", self._object_path(key, subresource) + options.query, body, patch_type.value)

    def delete(self, key: ObjectKey, options: DeleteOptions = _NO_DELETE_OPTIONS) -> Request:
        """Delete an object."""
        return _with_body("DELETE", self._object_path(key, ""), options.body)

    def delete_collection(
        self,
        namespace: str,
        selection: ListOptions = _NO_LIST_OPTIONS,
        options: DeleteOptions = _NO_DELETE_OPTIONS,
    ) -> Request:
        """Delete the selected objects of one namespace, or all of a cluster-scoped kind."""
        if self.resource.namespaced and not namespace:
            raise ValueError(f"{self.resource.gvk.kind} is namespaced: deleting many needs a namespace")
        return _with_body("DELETE", self._collection_path(namespace) + selection.query, options.body)

    # Paths.

    def _collection_path(self, namespace: str) -> str:
        if not namespace:
            return self._named
        if not self.resource.namespaced:
            raise ValueError(f"{self.resource.gvk.kind} is cluster-scoped: there is none in namespace {namespace!r}")
        return self._prefix + _segment(namespace) + self._suffix

    def _object_path(self, key: ObjectKey, subresource: str) -> str:
        namespace, name = key
        if self.resource.namespaced and not namespace:
            raise ValueError(f"{self.resource.gvk.kind} is namespaced: {name!r} needs a namespace")
        path = f"{self._collection_path(namespace)}/{_segment(name)}"
        return f"{path}/{_segment(subresource)}" if subresource else path


def _segment(text: str) -> str:
    """Return one part of a path; reject a text that would lead to another path."""
    if _PLAIN.fullmatch(text):
        return text
    if not text or text in (".", "..") or "/" in text or "%" in text:
        raise ValueError(f"{text!r} cannot be part of a URL path: a name is not empty, '.', '..', nor has '/' or '%'")
    return quote(text, safe=_SAFE)


def _with_body(method: str, target: str, body: bytes, content_type: str = JSON) -> Request:
    headers = {"accept": JSON, "content-type": content_type} if body else {"accept": JSON}
    return Request(method, target, headers, body)
