"""`BuiltinStrategy`: the behaviour that all built-in kinds share."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from steersman.apiserver.builtin import types as builtin_types
from steersman.apiserver.builtin.discovery import builtin_resources
from steersman.apiserver.builtin.go_structs import message_of, struct
from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.strategic_merge import apply_strategic_merge_patch
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.metadata_rules import MetadataReview
from steersman.apiserver.resources.ownership import refusal_of
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.resources.strategy import ReadObject, Strategy
from steersman.apiserver.status import Refusal, bad_request, internal_error
from steersman.errors import ApiError
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.patches import MalformedPatch, PatchError
from steersman.validation.field_errors import ValidationResult
from steersman.validation.wire_types import MismatchedType, Reading, WireTypeError


@cache
def _known_kinds() -> frozenset[GroupVersionKind]:
    return frozenset(resource.gvk for resource, _, _ in builtin_resources())


#: A claim template of a StatefulSet is a whole object and may have apiVersion and kind.
_INNER_TYPE = re.compile(r"spec\.volumeClaimTemplates\[\d+\]\.(?:apiVersion|kind)")
#: How many values of other types are skipped in search of a worse error.
_MOST_MISMATCHES = 20
_META = frozenset({"apiVersion", "kind", "metadata"})


class BuiltinStrategy(Strategy):
    """The strategy of a built-in kind; kinds with behaviour of their own have a subclass in their family."""

    #: Metadata that cannot be changed through the ``status`` subresource.
    kept_in_status: tuple[str, ...] = ()
    #: Whether reading marks empty values that were sent, so that rules can distinguish them from absent ones.
    marks_empty_values = True

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        self.gvk = served.gvk
        self.has_status = served.has_status
        self._kind = served.kind
        self._server = server
        self._struct = struct(message_of(served.gvk))
        self._metadata_review = MetadataReview(served.gvk, namespaced=served.namespaced, name_faults=self.name_faults)
        if served.has_status:
            kept = [("metadata", name) for name in self.kept_in_status]
            self.reset_fields = {"": set_of(("status",)), "status": set_of(("spec",), *kept)}

    def read(self, document: JsonObject, *, marks_empty: bool = False) -> ReadObject:
        """Read a document as Go does: drop and report unknown fields, then fill in defaults."""
        read = self.decode(document, marks_empty=marks_empty)
        self.default(read.obj)
        return read

    def decode(self, document: JsonObject, *, marks_empty: bool = False) -> ReadObject:
        """Read a document without filling in defaults."""
        reading = Reading(keeps_empty=marks_empty and self.marks_empty_values)
        content = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
        try:
            fields = self._struct.read(content, "", reading)
        except MismatchedType as error:
            raise self._worse_error(content, reading) or error from None
        obj = {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version, **fields}
        unknown = [f'unknown field "{path}"' for path in reading.unknown if not _INNER_TYPE.fullmatch(path)]
        return ReadObject(obj, unknown, reading.has_empty)

    def _worse_error(self, content: JsonObject, reading: Reading) -> WireTypeError | None:
        """Return the error that Go reports instead of a value of another type: one of a type that reads itself."""
        for _ in range(_MOST_MISMATCHES):
            content, reading = _without(content, reading.trail), Reading()
            try:
                self._struct.read(content, "", reading)
            except MismatchedType:
                continue
            except WireTypeError as error:
                return error
            return None
        return None

    def default(self, obj: JsonObject) -> None:
        """Set the defaults of the kind."""
        if self._kind.defaults is not None:
            self._kind.defaults(obj)

    def reread(self, stored: JsonObject) -> JsonObject:
        """Return the stored object: the rules of built-in kinds do not change while the server runs."""
        return stored

    def applied(self, merged: JsonObject) -> ReadObject:
        """Read the result of an apply as this kind."""
        return self.read(merged, marks_empty=True)

    def wrong_kind_text(self, kind: str, served: ServedResource) -> str:
        """Return why an object of another kind cannot be read as this one."""
        return f"converting (v1.{kind}) to (core.{served.kind}): unknown conversion"

    def typed(self, document: JsonObject, served: ServedResource) -> JsonObject:
        """Return the document with apiVersion and kind; reject those of another kind."""
        kind, api_version = document.get("kind") or served.kind, document.get("apiVersion") or served.api_version
        if api_version != served.api_version:
            raise _other_version(str(api_version), str(kind), served)
        if kind != served.kind:
            raise bad_request(
                f'{kind} in version "{served.version}" cannot be handled as a {served.kind}: '
                f"{self.wrong_kind_text(str(kind), served)}"
            )
        return {**document, "kind": kind, "apiVersion": api_version}

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set the first generation and the first status; clients cannot set the status on creation."""
        del subresource, context
        if self.has_status:
            obj["status"] = self.initial_status(obj)
        if self._kind.counts_generations:
            obj["metadata"]["generation"] = 1
        _forget_empty_lists(obj)

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Return the status of a new object."""
        del obj
        status: JsonObject = self._struct.zero().get("status") or {}
        return status

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep what the endpoint cannot change; increment the generation when the rest changed."""
        del context
        _forget_empty_lists(obj)
        if subresource == "status":
            self.prepare_status(obj, old)
            return
        if self.has_status:
            copy_field(obj, old, "status")
        if self._kind.counts_generations and self.is_new_generation(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, obj: JsonObject, old: JsonObject) -> None:
        """Keep everything but the status, and the metadata in `kept_in_status`."""
        for key in [key for key in obj if key not in _META and key != "status"]:
            del obj[key]
        for key, value in old.items():
            if key not in _META and key != "status":
                obj[key] = value
        for name in self.kept_in_status:
            copy_field(obj["metadata"], old["metadata"], name)

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether anything besides metadata and status changed."""
        ignored = _META | {"status"} if self.has_status else _META
        before = {key: value for key, value in old.items() if key not in ignored}
        return not same_content(before, {key: value for key, value in obj.items() if key not in ignored})

    def check(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> ValidationResult:
        """Validate the metadata, then apply the kind's own rules."""
        metadata = obj["metadata"]
        if old is None:
            errors = self._metadata_review.of_new(metadata)
        else:
            errors = self._metadata_review.of_changed(metadata, old["metadata"], subresource)
        errors += self._kind.validation_errors(obj, old, subresource)
        return ValidationResult(errors, self._kind.validation_warnings(obj, old, subresource))

    def columns(self) -> tuple[Column, ...]:
        """Return the columns that ``kubectl get`` prints for the kind."""
        return self._kind.table_columns()

    def ownership_type(self) -> Any:
        """Return the type tree of the kind."""
        return builtin_types.type_of(self.gvk)

    def empty_object(self) -> JsonObject:
        """Return the fields that every object of this kind has and that no manager owns."""
        return {"apiVersion": self.gvk.api_version, "kind": self.gvk.kind, **self._struct.zero()}

    def strategic_merge(self, live: JsonObject, patch: JsonObject) -> JsonObject:
        """Apply a strategic merge patch."""
        try:
            return apply_strategic_merge_patch(live, patch, self.gvk)
        except ApiError as error:
            raise refusal_of(error) from None
        except MalformedPatch as error:
            raise bad_request(str(error)) from None
        except PatchError as error:
            raise internal_error(str(error)) from None


def _without(document: JsonObject, trail: Sequence[str]) -> JsonObject:
    """Return a document without the field at the end of a trail, which may name embedded structs, too."""
    if not trail:
        return {}
    name, *rest = trail
    below = document.get(name)
    if name not in document:
        return _without(document, rest)
    if rest and below.__class__ is dict:
        return {**document, name: _without(below, rest)}
    return {key: part for key, part in document.items() if key != name}


def _forget_empty_lists(obj: JsonObject) -> None:
    """Replace empty lists at the top level by null, because the stored form has no empty lists there."""
    for key, value in obj.items():
        if value.__class__ is list and not value:
            obj[key] = None


def copy_field(obj: JsonObject, old: JsonObject, key: str) -> None:
    """Copy a field from the old object, or remove it where the old object has none."""
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)


def _other_version(api_version: str, kind: str, served: ServedResource) -> Refusal:
    group, _, version = api_version.rpartition("/")
    if GroupVersionKind(group, version, kind) not in _known_kinds():
        return bad_request(
            f'{kind} in version "{version}" cannot be handled as a {served.kind}: no kind "{kind}" is registered for '
            f'version "{api_version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
        )
    return bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({served.api_version})"
    )
