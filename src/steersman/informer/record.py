"""`Record`: one cached object as bytes, with the few fields that are needed without decoding it.

``managedFields`` is cut out of the bytes: it is often a third of an object and rarely read from a cache. A record is
immutable; every read decodes a new object from it. Its content may be compressed (``compression``).
"""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.identity import GroupVersionKind, ObjectKey

#: Changes the JSON of an object before it is cached, to drop parts that will not be read.
Transform = Callable[[JsonObject], JsonObject]

#: The kind of objects of which only the metadata was requested.
PARTIAL: Final = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")
_MANAGED_FIELDS = b'"managedFields":'
_COMMA, _END = b",}"
#: Characters before a field in compact JSON.
_OPENS = b"{,"
_NO_LABELS: Mapping[str, str] = MappingProxyType({})
#: Number of distinct label sets that are remembered, so that objects share them.
_SHARED_LABELS = 4096


class Owner(Struct, frozen=True, gc=False, rename="camel"):
    """One owner reference of a cached object."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool = False


class Codec(Struct, frozen=True, gc=False):
    """Compresses the content of records: ``compress`` for the one writer of a store, ``decompress`` in any thread."""

    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


class Record(Struct, frozen=True, gc=False):
    """A cached object. Equal uid and resource version mean equal content."""

    key: ObjectKey
    uid: str
    resource_version: str
    generation: int
    #: Shared between records with the same labels: read only.
    labels: Mapping[str, str]
    #: Equal for equal annotations within one process.
    annotations_digest: int
    owners: tuple[Owner, ...]
    finalizers: tuple[str, ...]
    deletion_timestamp: str
    #: ``data`` as it is stored: compressed by the codec, if there is one.
    content: bytes
    codec: Codec | None = None

    @property
    def data(self) -> bytes:
        """The object as compact JSON, with apiVersion and kind and without managedFields."""
        return self.content if self.codec is None else self.codec.decompress(self.content)

    def stored(self, content: bytes, codec: Codec) -> "Record":
        """Return the same object with its content in another form."""
        return replace(self, content=content, codec=codec)

    def __repr__(self) -> str:
        # Without the content: records may be logged, and some of them are Secrets.
        return f"<Record {self.key} version={self.resource_version}>"

    @property
    def is_deleting(self) -> bool:
        """Whether it is being deleted."""
        return self.deletion_timestamp != ""

    @property
    def is_metadata_only(self) -> bool:
        """Whether only its metadata was requested: the content is not known."""
        return _decode_kind(self.data).kind == PARTIAL.kind

    @property
    def controller(self) -> Owner | None:
        """Owner that controls it, if any."""
        return next((owner for owner in self.owners if owner.controller), None)


class _Metadata(Struct, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: Raw = Raw()
    annotations: Raw = Raw()
    owner_references: list[Owner] | None = None
    finalizers: list[str] | None = None
    managed_fields: Raw = Raw()


class _Head(Struct, gc=False):
    metadata: _Metadata
    kind: str = ""


class _Kind(Struct, gc=False):
    kind: str = ""


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_head = msgspec.json.Decoder(_Head).decode
_decode_labels = msgspec.json.Decoder(dict[str, str] | None).decode


class RecordReader:
    """Parse objects of one kind into records."""

    def __init__(self, gvk: GroupVersionKind, *, transform: Transform | None = None) -> None:
        self._transform = transform
        self._prefix = b'{"apiVersion":' + encode_json(gvk.api_version) + b',"kind":' + encode_json(gvk.kind)
        self._gvk = gvk
        self._labels: dict[bytes, Mapping[str, str]] = {}

    def read(self, raw: bytes | Raw) -> Record:
        """Return the record of an object; raise ``DecodeError`` for bytes that are not an object of this kind."""
        try:
            head = _decode_head(raw)
            if head.kind and head.kind != self._gvk.kind:
                raise DecodeError(f"expected an object of kind {self._gvk}, got {head.kind!r}")
            meta = head.metadata
            data = self._data(bytes(raw), head)
            return Record(
                ObjectKey(sys.intern(meta.namespace), meta.name),
                meta.uid,
                meta.resource_version,
                meta.generation,
                self._labels_of(meta.labels),
                hash(bytes(meta.annotations)),
                tuple(meta.owner_references) if meta.owner_references else (),
                tuple(meta.finalizers) if meta.finalizers else (),
                meta.deletion_timestamp or "",
                data,
            )
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DecodeError(f"not an object of kind {self._gvk}: {error}") from None

    def _data(self, data: bytes, head: _Head) -> bytes:
        managed = bytes(head.metadata.managed_fields)
        if managed:
            data = _cut_managed_fields(data, managed)
        if not head.kind:
            # Items of lists of built-in kinds have no kind: the list has it once.
            data = self._prefix + (b"}" if data == b"{}" else b"," + data[1:])
        if self._transform is not None:
            data = encode_json(self._transform(decode_json(data)))
        return data

    def _labels_of(self, raw: Raw) -> Mapping[str, str]:
        key = bytes(raw)
        if not key:
            return _NO_LABELS
        known = self._labels.get(key)
        if known is None:
            if len(self._labels) >= _SHARED_LABELS:
                self._labels.clear()
            known = self._labels[key] = MappingProxyType(_decode_labels(key) or {})
        return known


def _cut_managed_fields(data: bytes, value: bytes) -> bytes:
    """Cut ``metadata.managedFields``, which has that value, out of an object without decoding the rest.

    An unescaped ``"managedFields":`` cannot occur inside a JSON string, so a single occurrence is the field. If there
    are several, or the JSON is not compact, the object is decoded and encoded again.
    """
    begin = data.find(_MANAGED_FIELDS)
    start = begin + len(_MANAGED_FIELDS)
    end = start + len(value)
    if begin < 0 or not data.startswith(value, start) or data.rfind(_MANAGED_FIELDS) != begin:
        return _re_encoded(data)
    before, after = data[begin - 1], data[end]
    if after == _COMMA and before in _OPENS:
        return data[:begin] + data[end + 1 :]
    if after == _END and before in _OPENS:
        return data[: begin - (before == _COMMA)] + data[end:]
    return _re_encoded(data)


def _re_encoded(data: bytes) -> bytes:
    document = decode_json(data)
    document["metadata"].pop("managedFields", None)
    return encode_json(document)
