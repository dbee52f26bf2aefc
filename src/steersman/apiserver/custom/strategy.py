"""`CustomStrategy`: the rules of a custom resource in one version, taken from its definition."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from steersman.apiserver.builtin.types import type_builder
from steersman.apiserver.custom.conversion import Converter
from steersman.apiserver.custom.printer_columns import custom_columns
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.json_path import compile_path
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.strategy import ReadObject, Strategy
from steersman.errors import DecodeError
from steersman.golang.equality import json_identical
from steersman.golang.text import json_text
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.validation.field_errors import ValidationResult
from steersman.validation.object_meta import read_object_meta
from steersman.validation.wire_types import WireTypeError

if TYPE_CHECKING:
    from steersman.structural.custom_object import CustomKind

#: With what a document begins that is written as people write them.
_FIRST = ["apiVersion", "kind", "metadata"]
_META = frozenset(_FIRST)


class CustomStrategy(Strategy):
    """The rules of one version of a custom resource."""

    unconditional_update = False

    def __init__(
        self, crd: JsonObject, version: JsonObject, *, rules_since: int, converter: Converter | None = None
    ) -> None:
        #: Converts between versions; without it, versions differ only in their names.
        self.converter = converter
        self._api_version = f"{crd['spec']['group']}/{version['name']}"
        self._crd = crd
        self._version = version
        self._schema: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.has_defaults = b'"default":' in encode_json(self._schema)
        self._kind: CustomKind | None = None
        #: The schemas of other versions, by which objects are stored.
        self._others: dict[str, CustomKind | None] = {}
        self._type: Any = None
        stored = next(entry["name"] for entry in crd["spec"]["versions"] if entry["storage"])
        self._stored_api_version = f"{crd['spec']['group']}/{stored}"
        self.rules_since = rules_since
        parts = version.get("subresources") or {}
        self.has_status = parts.get("status") is not None
        self.scale: JsonObject | None = parts.get("scale")
        self._selectable: dict[str, Callable[[Any], list[Any]]] = {
            field["jsonPath"].removeprefix("."): compile_path(field["jsonPath"])
            for field in version.get("selectableFields") or ()
        }
        if self.has_status:
            self.reset_fields = {"": set_of(("status",)), "status": set_of(("metadata",), ("spec",))}

    @property
    def kind(self) -> "CustomKind":
        """The schema and its rules, compiled when the first object comes."""
        if self._kind is None:
            from steersman.structural.custom_object import CustomKind  # noqa: PLC0415 - a server starts without definitions

            self._kind = CustomKind.of(self._crd, self._version["name"])
        return self._kind

    def _other_kind(self, api_version: str) -> "CustomKind | None":
        """Return the schema of another version; ``None`` if it does not exist any more."""
        if api_version not in self._others:
            from steersman.structural.custom_object import CustomKind  # noqa: PLC0415 - as above

            name = api_version.rpartition("/")[2]
            is_there = any(version["name"] == name for version in self._crd["spec"]["versions"])
            self._others[api_version] = CustomKind.of(self._crd, name) if is_there else None
        return self._others[api_version]

    def openapi_schema(self) -> JsonObject | None:
        """Return the schema of the definition."""
        return self._schema

    def columns(self) -> tuple[Column, ...]:
        """Return the columns that the definition names, or the age."""
        return custom_columns(self._version.get("additionalPrinterColumns") or ())

    def ownership_type(self) -> Any:
        """Return the type tree of the schema."""
        if self._type is None:
            self._type = type_builder().custom_resource(self._schema)
        return self._type

    def read(self, document: JsonObject, *, marks_empty: bool = False) -> ReadObject:
        """Read, prune and default a document; one of another kind is left alone and refused later."""
        del marks_empty  # the rules of a schema do not distinguish empty from absent
        obj, kind = _content(document), self.kind
        try:
            unknown = kind.read(obj)
        except DecodeError as error:
            raise WireTypeError(str(error)) from None
        kind.default(obj)
        return ReadObject(obj, [f'unknown field "{path}"' for path in unknown] if unknown else ())

    def reread(self, stored: JsonObject) -> JsonObject:
        """Prune and default a stored object by today's schema; it may have been stored in another version.

        Then that version says what is filled in, and this one only what has a place in it.
        """
        if stored["apiVersion"] != self._api_version:
            other = self._other_kind(stored["apiVersion"]) if self.converter is None else None
            if other is not None:
                other.schema.prune(stored)
                other.schema.default(stored)
            stored = self.from_stored(stored, self._api_version)
            if other is not None:
                self.kind.schema.prune(stored)
                return stored
        self.kind.schema.prune(stored)
        self.kind.schema.default(stored)
        return stored

    def applied(self, merged: JsonObject) -> ReadObject:
        """Default the result of an apply; nulls stay, and are refused by the schema."""
        obj = _content(merged)
        obj["metadata"], _ = read_object_meta(obj["metadata"])
        self.kind.default(obj)
        return ReadObject(obj)

    def fill_in(self, obj: JsonObject, *, is_merged: bool) -> bool:
        """Prune and default the result of an apply or a scale, which no other step does before it is stored."""
        if not is_merged:
            return False
        before = encode_json(obj)
        self.kind.schema.prune(obj)
        self.kind.schema.default(obj)
        return encode_json(obj) != before

    def to_stored(self, obj: JsonObject) -> JsonObject:
        """Return the object in the stored version."""
        if self.converter is not None:
            return self.converter.one(obj, self._stored_api_version)
        return {**obj, "apiVersion": self._stored_api_version}

    def kept(self, stored: JsonObject) -> JsonObject:
        """Return the fields that the stored version has, with the defaults that reading it fills in."""
        other = self._other_kind(stored["apiVersion"]) if self.converter is None else None
        if other is None or stored["apiVersion"] == self._api_version:
            return stored
        copy: JsonObject = decode_json(encode_json(stored))
        other.schema.prune(copy)
        other.schema.default(copy)
        return copy

    def from_stored(self, stored: JsonObject, api_version: str) -> JsonObject:
        """Return a stored object in another served version."""
        if self.converter is not None:
            return self.converter.one(stored, api_version)
        return {**stored, "apiVersion": api_version}

    def prepare(self, stored: list[JsonObject]) -> None:
        """Make sure that many stored objects can be read at once."""
        if self.converter is not None:
            self.converter.prepare(stored, self._api_version)

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Start counting generations; the status is not for clients that create."""
        del subresource, context
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep what the endpoint cannot change, and count a generation when anything else changed."""
        del context
        if subresource == "status":
            self._only_status(obj, old)
            return
        if self.has_status:
            _copy(old, obj, "status")
        ignored = _META | {"status"} if self.has_status else _META
        before = {key: value for key, value in old.items() if key not in ignored}
        after = {key: value for key, value in obj.items() if key not in ignored}
        # A 1.0 in place of a 1 counts, although it is stored as the same.
        if not json_identical(before, after):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    @staticmethod
    def _only_status(obj: JsonObject, old: JsonObject) -> None:
        managed = obj["metadata"].get("managedFields")
        for key in [key for key in obj if key not in ("status", "apiVersion", "kind")]:
            del obj[key]
        for key, value in old.items():
            if key not in ("status", "apiVersion", "kind"):
                obj[key] = value
        metadata = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
        if managed:
            metadata["managedFields"] = managed
        obj["metadata"] = metadata

    def check(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> ValidationResult:
        """Validate an object against its schema and rules."""
        if old is None:
            return self.kind.validate_create(obj)
        if subresource == "status":
            return self.kind.validate_status_update(obj, old)
        return self.kind.validate_update(obj, old)

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the selectable fields of an object as text."""
        found = {}
        for label, follow in self._selectable.items():
            values = follow(obj)
            if values and values[0] is not None:
                found[label] = values[0] if values[0].__class__ is str else json_text(values[0])
        return found

    def field_label_error(self, label: str) -> str:
        """Return the error about a field that cannot be selected."""
        if label in ("metadata.name", "metadata.namespace") or label in self._selectable:
            return ""
        return f"field label not supported: {label}"


def _content(document: JsonObject) -> JsonObject:
    """Return a document with its type and metadata first, as objects are stored."""
    if [*document][:3] == _FIRST and document["metadata"] is not None:
        return {**document}
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {} if document.get("metadata") is None else document["metadata"],
        **{key: value for key, value in document.items() if key not in _META},
    }


def _copy(source: JsonObject, target: JsonObject, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
