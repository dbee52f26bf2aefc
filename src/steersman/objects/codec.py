"""Objects ↔ JSON bytes. The only place that knows how kinds, times and quantities are written.

A decoded object keeps the bytes it was read from, so that an update can send only what changed.
"""

from collections.abc import Hashable
from copy import copy
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar, overload

import msgspec
import msgspec.inspect
from msgspec import DecodeError as MsgspecDecodeError
from msgspec import Struct

from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.objects.fields import UNREADABLE, unreadable
from steersman.objects.meta import ListMeta
from steersman.objects.nulls import with_empty_for_null
from steersman.objects.quantity import Quantity
from steersman.objects.resource import KubeObject, Unstructured, absent_parts, gvk_of
from steersman.objects.times import Duration, MicroTime

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)
ObjectT = TypeVar("ObjectT", KubeObject, Unstructured)


#: Quantities are immutable, and the same few stand in all objects of a cluster.
_quantity = lru_cache(maxsize=1024)(Quantity)


def _encode_custom(value: object) -> object:
    if isinstance(value, (Quantity, MicroTime, Duration)):
        return str(value)
    raise NotImplementedError(f"{type(value).__qualname__} has no JSON form")


def _decode_custom(wanted: type, value: Any) -> object:
    # Quantities may be numbers on the wire; the other two are always text.
    if wanted is Quantity:
        if type(value) is str:
            return _quantity(value)
        if type(value) in (int, float):
            return Quantity(value)
    if wanted in (MicroTime, Duration) and isinstance(value, str):
        return wanted.parse(value)
    raise TypeError(f"{wanted.__qualname__} cannot be read from {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_encode_custom)
#: Write any JSON-like value or model, compactly.
encode_json = _encoder.encode
_decode_json = msgspec.json.Decoder().decode


def _new_decoder(wanted: object) -> msgspec.json.Decoder[Any]:
    try:
        return msgspec.json.Decoder(wanted, dec_hook=_decode_custom)
    except UNREADABLE as error:
        raise unreadable(wanted, error) from None


@cache
def _decoder(wanted: Hashable) -> msgspec.json.Decoder[Any]:
    return _new_decoder(wanted)


class _KindCodec:
    """Encoder and decoder of one kind.

    It is stored in an attribute of its class; a cache would keep the class alive.
    """

    __slots__ = ("decoder", "prefix", "shape")

    def __init__(self, kind: type[KubeObject]) -> None:
        self.decoder: msgspec.json.Decoder[KubeObject] = _new_decoder(kind)
        self.prefix: bytes | None = None
        #: The whole tree of types, for the few objects that need it.
        self.shape: msgspec.inspect.Type | None = None


def _codec_of(kind: type[KubeObject]) -> _KindCodec:
    codec: _KindCodec | None = kind.__dict__.get("__codec__")
    if codec is None:
        codec = _KindCodec(kind)
        type.__setattr__(kind, "__codec__", codec)
    return codec


def _prefix_of(kind: type[KubeObject]) -> bytes:
    """Return the bytes with which every object of a kind begins on the wire."""
    codec = _codec_of(kind)
    if codec.prefix is None:
        gvk = gvk_of(kind)
        api_version, name = encode_json(gvk.api_version), encode_json(gvk.kind)
        codec.prefix = b'{"apiVersion":' + api_version + b',"kind":' + name + b","
    return codec.prefix


def decode_json(data: bytes | str) -> Any:
    """Read any JSON document."""
    try:
        return _decode_json(data)
    except (MsgspecDecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"not JSON: {error}") from None
    except RecursionError:
        raise DecodeError("not JSON that can be read: nested too deeply") from None


def decode_as(wanted: type[T], data: bytes) -> T:
    """Decode a model that is not an object itself (a list's metadata, the response of a review)."""
    try:
        result: T = _decoder(wanted).decode(data)  # type: ignore[arg-type] # mypy takes no class of T for hashable
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"not a {getattr(wanted, '__name__', wanted)}: {error}") from None
    except RecursionError:
        raise DecodeError(f"not a {getattr(wanted, '__name__', wanted)}: nested too deeply") from None
    return result


def _without_empty_parts(obj: KubeObject) -> Struct:
    """Return the object as it is sent: a part that only stands in for an absent one is absent again."""
    hollow = absent_parts(obj)
    if not hollow:
        return obj
    sent = copy(obj)
    for name in hollow:
        setattr(sent, name, None)
    return sent


def encode(obj: KubeObject | Unstructured) -> bytes:
    """Write an object as compact JSON, beginning with its apiVersion and kind."""
    if isinstance(obj, Unstructured):
        return _encoder.encode(obj.content)
    return _prefix_of(type(obj)) + _encoder.encode(_without_empty_parts(obj))[1:]


@overload
def decode(kind: type[K], data: bytes) -> K: ...
@overload
def decode(kind: type[Unstructured], data: bytes) -> Unstructured: ...
def decode(kind: type[KubeObject] | type[Unstructured], data: bytes) -> KubeObject | Unstructured:
    """Decode an object and keep its bytes, which hold unknown fields for a later update."""
    if issubclass(kind, Unstructured):
        content = decode_json(data)
        if not isinstance(content, dict):
            raise DecodeError(f"not an object: {type(content).__name__}")
        try:
            loose = kind(content)
        except ValueError as error:
            raise DecodeError(str(error)) from None
        loose._read = data  # noqa: SLF001 - the codec is the one that remembers
        return loose
    try:
        obj = _decode_typed(kind, data)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise DecodeError(f"not a {kind.__name__}: {error}") from None
    except RecursionError:
        raise DecodeError(f"not a {kind.__name__}: nested too deeply") from None
    obj.__dict__["_read"] = data
    return obj


def _decode_typed(kind: type[KubeObject], data: bytes) -> KubeObject:
    codec = _codec_of(kind)
    try:
        return codec.decoder.decode(data)
    except msgspec.ValidationError:
        document = _decode_json(data)
        if codec.shape is None:
            codec.shape = msgspec.inspect.type_info(kind)
        repaired = with_empty_for_null(document, codec.shape)
        if repaired == document:
            raise
        return codec.decoder.decode(_encoder.encode(repaired))


def bytes_read(obj: KubeObject | Unstructured) -> bytes | None:
    """Return the bytes that an object was decoded from; None for one that was created here."""
    if isinstance(obj, Unstructured):
        return obj._read  # noqa: SLF001 - the codec is the one that remembers
    read: bytes | None = obj.__dict__.get("_read")
    return read


def to_json(obj: KubeObject | Unstructured) -> JsonObject:
    """Return an object as a JSON document, as it would be sent."""
    document: JsonObject = _decode_json(encode(obj))
    return document


def from_json(kind: type[K], document: JsonObject) -> K:
    """Create a typed object from a JSON document."""
    return decode(kind, _encoder.encode(document))


class ObjectList(Struct, Generic[T]):
    """Objects of one kind as they were at one version."""

    metadata: ListMeta
    items: list[T]

    @property
    def resource_version(self) -> str:
        """The version at which the list was true."""
        return self.metadata.resource_version or ""

    @property
    def continue_token(self) -> str:
        """Where the next page begins; empty on the last page."""
        return self.metadata.continue_ or ""


class RawList(Struct):
    """A list whose items are still bytes."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None
    kind: str = ""


def decode_list(kind: type[K], data: bytes) -> ObjectList[K]:
    """Decode a list of a kind; each item keeps its own bytes."""
    raw = decode_as(RawList, data)
    return ObjectList(raw.metadata, [decode(kind, bytes(item)) for item in raw.items or ()])
