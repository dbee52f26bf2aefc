"""`BuiltinStrategy`: the rules that built-in kinds share; most have no others."""

import re
from functools import cache
from typing import Any

from steersman.apiserver.builtin import types as builtin_types
from steersman.apiserver.builtin.defaults.registry import defaults_of
from steersman.apiserver.builtin.go_structs import message_of, struct
from steersman.apiserver.builtin.strategic_merge import apply_strategic_merge_patch
from steersman.apiserver.builtin.table import builtin_resources
from steersman.apiserver.builtin.validation.registry import validation_errors
from steersman.apiserver.builtin.validation.warnings import validation_warnings
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.metadata_rules import MetadataReview
from steersman.apiserver.resources.ownership import refusal_of
from steersman.apiserver.resources.served import Served
from steersman.apiserver.resources.strategy import Document, Reading, Strategy
from steersman.apiserver.status import Refusal, bad_request, internal_error
from steersman.errors import ApiError
from steersman.golang.empty_values import same_content
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.patches import MalformedPatch, PatchError
from steersman.validation.field_errors import ValidationResult
from steersman.validation.wire_types import Reading as WireReading


@cache
def _known_kinds() -> frozenset[GroupVersionKind]:
    return frozenset(resource.gvk for resource, _, _ in builtin_resources())


#: A claim inside a StatefulSet is a whole object: it may say what it is.
_INNER_TYPE = re.compile(r"spec\.volumeClaimTemplates\[\d+\]\.(?:apiVersion|kind)")
_META = frozenset({"apiVersion", "kind", "metadata"})


class BuiltinStrategy(Strategy):
    """The rules of a built-in kind."""

    #: The metadata that writers of the status cannot change.
    kept_in_status: tuple[str, ...] = ()
    #: Whether the rules of the kind are told what was given empty.
    tells_empties = True

    def __init__(self, gvk: GroupVersionKind, *, namespaced: bool, has_status: bool, counts: bool) -> None:
        self.gvk = gvk
        self.namespaced = namespaced
        self.has_status = has_status
        #: Whether the kind counts generations.
        self.counts = counts
        self._struct = struct(message_of(gvk))
        self._defaults = defaults_of(gvk)
        self._metadata_review = MetadataReview(gvk, namespaced=namespaced, name_faults=self.name_faults)
        if has_status:
            kept = [("metadata", name) for name in self.kept_in_status]
            self.reset_fields = {"": set_of(("status",)), "status": set_of(("spec",), *kept)}

    def read(self, document: Document, reading: Reading) -> Document:
        """Read a document as Go does; what the kind does not know is dropped and noted, then defaults are filled in."""
        obj = self.decode(document, reading)
        self.default(obj)
        return obj

    def decode(self, document: Document, reading: Reading) -> Document:
        """Read a document without filling anything in."""
        noted = WireReading(keeps_empty=reading.keeps_empty and self.tells_empties)
        content = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
        read = self._struct.read(content, "", noted)
        reading.has_empty = reading.has_empty or noted.has_empty
        reading.strict += [f'unknown field "{path}"' for path in noted.unknown if not _INNER_TYPE.fullmatch(path)]
        return {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version, **read}

    def default(self, obj: Document) -> None:
        """Fill in what an author may leave out."""
        if self._defaults is not None:
            self._defaults(obj)

    def reread(self, stored: Document) -> Document:
        """Built-in kinds do not change while the server runs."""
        return stored

    def applied(self, merged: Document, reading: Reading) -> Document:
        """Read the result of an apply as this kind."""
        return self.read(merged, reading)

    def wrong_kind_text(self, kind: str, served: Served) -> str:
        """Say why an object of another kind cannot be read as this one."""
        return f"converting (v1.{kind}) to (core.{served.kind}): unknown conversion"

    def typed(self, document: Document, served: Served) -> Document:
        """Fill in apiVersion and kind where they are left out; refuse those of another kind."""
        kind, api_version = document.get("kind") or served.kind, document.get("apiVersion") or served.api_version
        if api_version != served.api_version:
            raise _other_version(str(api_version), str(kind), served)
        if kind != served.kind:
            raise bad_request(
                f'{kind} in version "{served.version}" cannot be handled as a {served.kind}: '
                f"{self.wrong_kind_text(str(kind), served)}"
            )
        return {**document, "kind": kind, "apiVersion": api_version}

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Start counting generations; the status is not for clients that create."""
        del subresource
        if self.has_status:
            obj["status"] = self.initial_status(obj)
        if self.counts:
            obj["metadata"]["generation"] = 1
        _forget_empty_lists(obj)

    def initial_status(self, obj: Document) -> Document:
        """Give the status of a new object."""
        del obj
        status: Document = self._struct.zero().get("status") or {}
        return status

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Keep what the endpoint cannot change; count a generation when the rest changed."""
        _forget_empty_lists(obj)
        if subresource == "status":
            self.prepare_status(obj, old)
            return
        if self.has_status:
            take(obj, old, "status")
        if self.counts and self.is_new_generation(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, obj: Document, old: Document) -> None:
        """Keep everything but the status, and of the metadata what status writers may not touch."""
        for key in [key for key in obj if key not in _META and key != "status"]:
            del obj[key]
        for key, value in old.items():
            if key not in _META and key != "status":
                obj[key] = value
        for name in self.kept_in_status:
            take(obj["metadata"], old["metadata"], name)

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Tell whether a change is more than metadata and status."""
        ignored = _META | {"status"} if self.has_status else _META
        before = {key: value for key, value in old.items() if key not in ignored}
        return not same_content(before, {key: value for key, value in obj.items() if key not in ignored})

    def check(self, obj: Document, old: Document | None, subresource: str) -> ValidationResult:
        """Judge the metadata; kinds add what they know."""
        metadata = obj["metadata"]
        if old is None:
            errors = self._metadata_review.of_new(metadata)
        else:
            errors = self._metadata_review.of_changed(metadata, old["metadata"], subresource)
        errors += validation_errors(self.gvk, obj, old, subresource)
        return ValidationResult(errors, validation_warnings(self.gvk, obj, old, subresource))

    def columns(self) -> tuple[Column, ...]:
        """Return the columns that ``kubectl get`` prints for the kind."""
        from steersman.apiserver.builtin.tables.kinds import builtin_columns  # noqa: PLC0415 - only tables need it

        return builtin_columns(self.gvk)

    def ownership_type(self) -> Any:
        """Give the type tree of the kind."""
        return builtin_types.type_of(self.gvk)

    def empty_object(self) -> Document:
        """Give what an object of this kind always has, which nobody owns."""
        return {"apiVersion": self.gvk.api_version, "kind": self.gvk.kind, **self._struct.zero()}

    def strategic_merge(self, live: Document, patch: Document) -> Document:
        """Apply a strategic merge patch."""
        try:
            return apply_strategic_merge_patch(live, patch, self.gvk)
        except ApiError as error:
            raise refusal_of(error) from None
        except MalformedPatch as error:
            raise bad_request(str(error)) from None
        except PatchError as error:
            raise internal_error(str(error)) from None


def _forget_empty_lists(obj: Document) -> None:
    """Write empty lists at the top as null: what is stored does not tell them from none."""
    for key, value in obj.items():
        if value.__class__ is list and not value:
            obj[key] = None


def take(obj: Document, old: Document, key: str) -> None:
    """Set a member of an object to that of another, or remove it where the other has none."""
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)


def _other_version(api_version: str, kind: str, served: Served) -> Refusal:
    group, _, version = api_version.rpartition("/")
    if GroupVersionKind(group, version, kind) not in _known_kinds():
        return bad_request(
            f'{kind} in version "{version}" cannot be handled as a {served.kind}: no kind "{kind}" is registered for '
            f'version "{api_version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
        )
    return bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({served.api_version})"
    )
