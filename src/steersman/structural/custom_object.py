"""`CustomKind`: everything a server does with the content of a custom object before it is stored.

One version of one CustomResourceDefinition. Read (typed metadata, pruning), default, validate; what a server decides by
its store (existing objects, resource versions, generations) is not done here.
"""

from dataclasses import dataclass, field
from typing import Self

from steersman.errors import DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.structural.compiled import CompiledSchema, compile_schema
from steersman.structural.crd.scale import ScalePaths
from steersman.validation.field_errors import FieldError, ValidationResult, invalid
from steersman.validation.object_meta import (
    read_object_meta,
    validate_any_change,
    validate_object_meta,
    validate_object_meta_update,
)
from steersman.validation.wire_types import WireTypeError


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomKind:
    """A version of a custom kind, ready to read and validate objects."""

    group: str
    version: str
    kind: str
    namespaced: bool
    schema: CompiledSchema
    has_status: bool = False
    scale: ScalePaths | None = None
    #: The `apiVersion` of its objects.
    api_version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}")

    @classmethod
    def of(cls, crd: JsonObject, version: str) -> Self:
        """Compile one version of a CustomResourceDefinition that a server accepted."""
        spec = crd["spec"]
        found = next((entry for entry in spec["versions"] if entry["name"] == version), None)
        if found is None:
            raise KeyError(f"{crd['metadata']['name']} has no version {version}")
        subresources = found.get("subresources") or {}
        scale = subresources.get("scale")
        return cls(
            group=spec["group"],
            version=version,
            kind=spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
            schema=compile_schema(found["schema"]["openAPIV3Schema"]),
            has_status=subresources.get("status") is not None,
            scale=ScalePaths.of(scale) if scale else None,
        )

    def is_own(self, obj: JsonObject) -> bool:
        """Return whether the kind of an object is this one, in any version."""
        if obj.get("kind") != self.kind:
            return False
        if obj.get("apiVersion") == self.api_version:
            return True
        group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
        return group == self.group

    def read(self, obj: JsonObject) -> list[str]:
        """Normalise a decoded object in place; return the paths of unknown fields.

        Metadata becomes what the typed structure keeps of it; fields that the schema does not declare are dropped.
        Raises `DecodeError` for wrong types in metadata. An object of another kind keeps its content, as on the server.
        """
        unknown: list[str] = []
        if "metadata" in obj:
            try:
                obj["metadata"], unknown = read_object_meta(obj["metadata"])
            except WireTypeError as error:
                raise DecodeError(str(error)) from None
        if self.is_own(obj):
            unknown += self.schema.prune(obj)
        return unknown

    def default(self, obj: JsonObject) -> None:
        """Fill in the schema's defaults in place."""
        if self.is_own(obj):
            self.schema.default(obj)

    def _type_errors(self, obj: JsonObject) -> list[FieldError]:
        errors = []
        if obj.get("kind") != self.kind:
            errors.append(invalid("kind", obj.get("kind", ""), f"must be {self.kind}"))
        if obj.get("apiVersion") != self.api_version:
            errors.append(invalid("apiVersion", obj.get("apiVersion", ""), f"must be {self.api_version}"))
        return errors

    def _scale_errors(self, obj: JsonObject) -> list[FieldError]:
        if self.scale is None:
            return []
        return [*self.scale.spec_errors(obj), *self.scale.status_errors(obj)]

    def validate_create(self, obj: JsonObject) -> ValidationResult:
        """Check a new object; its status, if a subresource, is the caller's to drop first."""
        errors = self._type_errors(obj)
        if errors:
            # The schema is not asked about objects of another kind, but its rules are.
            return self.schema.check_rules(obj, ABSENT, errors)
        errors = validate_object_meta(obj.get("metadata") or {}, namespaced=self.namespaced)
        return self.schema.validate(obj, earlier=[*errors, *self._scale_errors(obj)])

    def validate_update(self, obj: JsonObject, old: JsonObject) -> ValidationResult:
        """Check an object that replaces another."""
        meta, old_meta = obj.get("metadata") or {}, old.get("metadata") or {}
        errors = validate_any_change(meta, old_meta, namespaced=self.namespaced) + self._type_errors(obj)
        return self.schema.validate(obj, old, earlier=[*errors, *self._scale_errors(obj)])

    def validate_status_update(self, obj: JsonObject, old: JsonObject) -> ValidationResult:
        """Check an object whose status replaces that of another."""
        errors = self._type_errors(obj)
        errors += validate_object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})
        scale = self.scale.status_errors(obj) if self.scale is not None else []
        return self.schema.validate(obj, old, status_only=True, earlier=[*errors, *scale])
