"""Patch: a change to an object instead of the object, in four notations."""

import re
from collections.abc import Callable
from typing import Any

from steersman.apiserver.messages.api_request import Answer, Call
from steersman.apiserver.messages.bodies import JSON_WORDS, check_size, parse_json, read_configuration, strict_warnings
from steersman.apiserver.messages.negotiation import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    media_type,
    patch_media,
)
from steersman.apiserver.messages.options import WriteOptions, write_options
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.resources.ownership import Ownership, refusal_of
from steersman.apiserver.resources.served import Served
from steersman.apiserver.resources.strategy import Reading
from steersman.apiserver.status import Refusal, bad_request, internal_error, invalid
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.patch_order import in_read_order
from steersman.apiserver.verbs.write import NO_NAME, WRONG_NAMESPACE, Change, Writing, ordered
from steersman.errors import ApiError, DecodeError
from steersman.golang.strict_json import decode_json, settle_numbers, strict_message
from steersman.golang.text import json_string, json_text, plain
from steersman.objects.codec import encode_json
from steersman.protocol.patches import (
    MalformedPatch,
    PatchError,
    PatchTooExpensive,
    apply_json_patch,
    apply_merge_patch,
)
from steersman.validation.field_errors import invalid as invalid_field
from steersman.validation.wire_types import WireTypeError

Document = dict[str, Any]
_REJECTED = "the server rejected our request due to an error in our request"


class Patching:
    """Patches objects of every kind."""

    def __init__(self, ledger: Ledger, writing: Writing, ownership: Ownership) -> None:
        self._ledger = ledger
        self._writing = writing
        self._ownership = ownership

    def patch(self, call: Call) -> Answer:
        """Answer a PATCH of an object or of one of its parts."""
        media = patch_media(call.request.headers.get("content-type", ""), builtin=call.served.builtin)
        options = write_options(call.query, "PatchOptions", applying=media == APPLY_PATCH)
        check_size(call.request.body)
        record = self._ledger.get(call.served, call.info.namespace, call.info.name)
        if media == APPLY_PATCH:
            return self._apply(call, record, options)
        patch = _READERS[media](call.request.body)
        if record is None:
            raise call.served.not_found(call.info.name)
        live = self._ledger.document(call.served, record)
        document = self._patched(call, media, live, patch)
        try:
            return self._replace(call, record, live, document, options)
        except _UnreadableError as fault:
            if media == STRATEGIC_PATCH:
                shown = plain(_as_left(patch, live))
                raise invalid("", "", "", [invalid_field("patch", shown, _restore_fault(fault.why))]) from None
            # Reading has changed the document: it is made again, to be quoted as it was.
            again = self._patched(call, media, self._ledger.document(call.served, record), patch)
            if fault.is_type:
                fault.why = _first_fault(call.served, in_read_order(again, patch)) or fault.why
            raise bad_result(again, fault.why, builtin=call.served.builtin) from None

    def _patched(self, call: Call, media: str, live: Document, patch: Any) -> Any:
        if media == STRATEGIC_PATCH:
            # 80.0 is another key than 80, but becomes the same port.
            return settle_numbers(call.served.strategy.strategic_merge(live, patch))
        return patched(media, live, patch)

    def _replace(self, call: Call, record: Record, live: Document, document: Any, options: WriteOptions) -> Answer:
        """Go on as an update does, with what the patch made of the live object."""
        if document.__class__ is not dict:
            raise _rejected()
        obj = self._decode(call, document, options)
        metadata = obj["metadata"]
        self._check_patched_name(call, metadata.get("name", ""))
        self._writing.place(call, metadata)
        try:
            unconditional = call.served.strategy.unconditional_update
            self._writing.check_version(call.served, record, metadata, unconditional=unconditional)
        except Refusal:
            # Who is refused for the version was told of owners named twice before.
            self._writing.name_owners_once(call, metadata)
            raise
        change = Change(record, live, obj, call.info.subresource, is_patch=True)
        return Answer(200, self._writing.update_object(call, change, options))

    @staticmethod
    def _check_patched_name(call: Call, given: str) -> None:
        """Refuse a patch that takes the name away or changes it."""
        if not given:
            raise bad_request(NO_NAME.format(call.info.name))
        if given != call.info.name:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({call.info.name})")

    def _decode(self, call: Call, document: Document, options: WriteOptions) -> Document:
        """Read a patched document; what is wrong with it is told about the patch."""
        served = call.served
        if not served.builtin:
            _check_typed(document)
        elif media_type(call.request.headers.get("content-type", "")) != STRATEGIC_PATCH:
            _check_same_type(call, document)
        reading = Reading(strict=_read_again(call), keeps_empty=True)
        try:
            obj = served.strategy.read(dict(document), reading)
        except WireTypeError as error:
            raise _UnreadableError(str(error), is_type=True) from None
        call.has_empties = reading.has_empty
        faults = reading.faults
        if faults and options.field_validation == "Strict":
            raise _UnreadableError(strict_message(faults))
        if options.field_validation == "Warn":
            call.warnings += faults
        return obj

    def _apply(self, call: Call, record: Record | None, options: WriteOptions) -> Answer:
        """Answer a server-side apply; a missing object is created."""
        served, name = call.served, call.info.name
        body = read_configuration(call.request.body)
        config = self._checked_configuration(call, body.document)
        live = None if record is None else self._ledger.document(served, record)
        subresource = call.info.subresource
        if live is None and subresource and not served.strategy.creates_on_update(subresource):
            raise served.not_found(name)
        self._check_identity(served, name, record, config)
        merged = self._ownership.applied(
            served, live, config, call.manager, self._writing.now(), force=options.force, subresource=subresource
        )
        _check_duplicates(call, body.complaints, options)
        reading = Reading(keeps_empty=True)
        try:
            obj = served.strategy.applied(merged, reading)
        except WireTypeError as error:
            text = f"failed to convert new object (/{name}; {_gv(served.group, served.version)}, Kind={served.kind})"
            # A quantity says itself what is wrong with it.
            decoding = "" if str(error).startswith("quantities ") else "error decoding from json: "
            raise internal_error(
                f"{text} to proper version: unable to convert unstructured object to "
                f"{_gv(served.group, served.version)}, Kind={served.kind}: {decoding}{error}"
            ) from None
        call.has_empties = reading.has_empty
        self._check_name(call, config, is_new=record is None)
        if record is None or live is None:
            return Answer(201, self._writing.create_object(call, obj, options, is_owned=True))
        obj["metadata"].pop("resourceVersion", None)
        if not served.namespaced:
            obj["metadata"].pop("namespace", None)
        change = Change(record, live, obj, subresource, is_owned=True, is_patch=True)
        return Answer(200, self._writing.update_object(call, change, options))

    @staticmethod
    def _check_name(call: Call, config: Document, *, is_new: bool) -> None:
        given = (config.get("metadata") or {}).get("name") or ""
        if given and given != call.info.name:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({call.info.name})")
        if not given and is_new:
            raise bad_request(NO_NAME.format(call.info.name))
        place = (config.get("metadata") or {}).get("namespace") or ""
        if place and place != call.info.namespace and call.served.namespaced:
            raise bad_request(WRONG_NAMESPACE)

    def _check_identity(self, served: Served, name: str, record: Record | None, config: Document) -> None:
        """Reject an apply to another version than the live one, or with a uid to an object that does not exist."""
        metadata = config.get("metadata") or {}
        if record is None:
            if uid := metadata.get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise served.conflict(name, why)
        elif "resourceVersion" in metadata:
            unconditional = served.strategy.unconditional_update
            self._writing.check_version(served, record, metadata, unconditional=unconditional)

    @staticmethod
    def _checked_configuration(call: Call, document: Document) -> Document:
        served = call.served
        kind, api_version = document.get("kind") or "", document.get("apiVersion") or ""
        if kind != served.kind or api_version != served.api_version:
            group, _, version = str(api_version).rpartition("/")
            raise bad_request(f"invalid object type: {_gv(group, version)}, Kind={kind}")
        return document


def _check_duplicates(call: Call, complaints: list[str], options: WriteOptions) -> None:
    """Reject keys that the body of an apply sets twice, or warn about them."""
    if complaints and options.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {complaints[0]}")
    if options.field_validation == "Warn":
        call.warnings += strict_warnings(complaints)


def _first_fault(served: Served, document: Document) -> str:
    """Say what cannot be read of a document, the first thing first; empty where all can be."""
    try:
        served.strategy.read(decode_json(encode_json(document)).value, Reading())
    except WireTypeError as error:
        return str(error)
    return ""


def _check_same_type(call: Call, document: Document) -> None:
    """Refuse a document of a built-in kind that a patch made one of another type; only the kind may be left out."""
    served = call.served
    kind, api_version = document.get("kind") or served.kind, document.get("apiVersion")
    if not api_version:
        # Such a document is read as one of no version, which knows none of its fields.
        call.warnings += [f'unknown field "{key}"' for key in sorted(document) if key not in ("kind", "apiVersion")]
        raise bad_request(NO_NAME.format(call.info.name))
    if kind != served.kind or api_version != served.api_version:
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise _UnreadableError(text)


def _read_again(call: Call) -> list[str]:
    """Note whether a patch has fractions; complain about members that it has twice."""
    try:
        found = decode_json(call.request.body)
    except DecodeError:
        return []
    call.has_floats = call.has_floats or found.has_floats
    return [f'duplicate field "{path}"' for path in found.duplicates]


def _gv(group: str, version: str) -> str:
    return f"{group}/{version}"


def _rejected() -> Refusal:
    return Refusal(422, "Invalid", _REJECTED, details={})


class _UnreadableError(Exception):
    """A patched object is no object of its kind; ``why`` is what the decoder says, maybe of the type of a value."""

    def __init__(self, why: str, *, is_type: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_type = is_type


def _as_left(patch: Document, live: Document) -> Document:
    """Give a strategic patch as the merge leaves it: whole replacements lose their directive, others some nulls."""
    left: Document = _without_unmatched_nulls(patch, live)
    return left


def _without_unmatched_nulls(patch: Any, live: Any) -> Any:
    """Give a patch without the nulls under members that the object lacks."""
    if patch.__class__ is not dict:
        return patch
    if live.__class__ is not dict:
        return {key: _without_unmatched_nulls(part, None) for key, part in patch.items() if part is not None}
    if patch.get("$patch") == "replace":
        return {key: part for key, part in patch.items() if key != "$patch"}
    return {key: part if part is None else _without_unmatched_nulls(part, live.get(key)) for key, part in patch.items()}


#: What a strategic merge says where Go's decoder says something else.
_RESTORES = (
    (r"cannot unmarshal array into .* of type map\[", "cannot restore map from slice"),
    (r"cannot unmarshal object into .* of type \[\]", "cannot restore slice from map"),
    (r"cannot unmarshal string into .* of type map\[", "cannot restore map from string"),
    (r"cannot unmarshal number into .* of type \[\]", "cannot restore slice from int64"),
    (r"cannot unmarshal number into .* of type string", "cannot convert int64 to string"),
    (r"cannot unmarshal string into .* of type (int32|int64|bool)", r"unrecognized type: \1"),
    (r"^illegal base64 data .*", r"error decoding from json: \g<0>"),
)


def _restore_fault(why: str) -> str:
    for pattern, text in _RESTORES:
        if match := re.search(pattern, why):
            return match.expand(text)
    return why


def _check_typed(document: Document) -> None:
    """Refuse a custom object that a patch has left without a kind or an API version."""
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if value is not None and value.__class__ is not str:
            word = JSON_WORDS[value.__class__]
            why = f"json: cannot unmarshal {word} into Go struct field .{key} of type string"
            raise _UnreadableError(f"couldn't get version/kind; json parse error: {why}")
    if not document.get("kind"):
        raise _UnreadableError(f"Object 'Kind' is missing in '{_document_text(document, builtin=False)}'")
    if not document.get("apiVersion"):
        missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        text = f"Internal error occurred: {missing}"
        raise Refusal(500, "InternalError", text, details={"causes": [{"message": missing}]})


def bad_result(document: Document, why: str, *, builtin: bool) -> Refusal:
    """422: what a patch makes of the object cannot be read; the object is quoted as the patch left it."""
    text = _document_text(document, builtin=builtin)
    return invalid("", "", "", [invalid_field("patch", text, why)])


def _document_text(document: Document, *, builtin: bool) -> str:
    parts = {key: json_text(value) for key, value in document.items()}
    metadata = document.get("metadata")
    if builtin and metadata.__class__ is dict:
        parts["metadata"] = _struct_text(metadata)
    return "{" + ",".join(f"{json_string(key)}:{parts[key]}" for key in sorted(parts)) + "}"


def _struct_text(metadata: Document) -> str:
    """Write metadata in the order of its structure; only what is free-form is sorted."""
    shown = ordered(metadata)
    for key in ("labels", "annotations"):
        if key in shown:
            shown[key] = _sorted(shown[key])
    if shown.get("ownerReferences").__class__ is list:
        shown["ownerReferences"] = [_in_order(owner, _OWNER) for owner in shown["ownerReferences"]]
    if shown.get("managedFields").__class__ is list:
        shown["managedFields"] = [_entry_in_order(entry) for entry in shown["managedFields"]]
    return encode_json(shown).decode()


def _entry_in_order(entry: Any) -> Any:
    if entry.__class__ is not dict:
        return entry
    return _in_order({**entry, "fieldsV1": _sorted(entry.get("fieldsV1"))}, _MANAGED)


_OWNER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_MANAGED = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def _in_order(document: Any, names: tuple[str, ...]) -> Any:
    """Write the known members of a structure in its order, and whatever a patch added after them."""
    if document.__class__ is not dict:
        return document
    known = {name: document[name] for name in names if name in document}
    return {**known, **{name: value for name, value in document.items() if name not in known}}


def _sorted(value: Any) -> Any:
    if value.__class__ is dict:
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value


def _without_nulls_in_lists(patch: Any, *, is_inside: bool = False) -> Any:
    """Take null members away from objects inside the lists of a merge patch, where a null takes nothing away."""
    if patch.__class__ is dict:
        return {
            key: _without_nulls_in_lists(part, is_inside=is_inside)
            for key, part in patch.items()
            if part is not None or not is_inside
        }
    if patch.__class__ is list:
        return [_without_nulls_in_lists(part, is_inside=True) for part in patch]
    return patch


def patched(media: str, live: Document, patch: Any) -> Any:
    """Apply a JSON or merge patch."""
    if media == MERGE_PATCH:
        return apply_merge_patch(live, _without_nulls_in_lists(patch))
    try:
        return apply_json_patch(live, patch)
    except PatchTooExpensive as error:
        raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {error}") from None
    except MalformedPatch as error:
        raise bad_request(str(error)) from None
    except PatchError:
        raise _rejected() from None
    except ApiError as error:
        raise refusal_of(error) from None


def patch_document(media: str, document: Document, data: bytes) -> Document:
    """Patch a document that is no object of a kind: strategic merges are plain merges there."""
    patch = _READERS[media](data)
    made = patched(MERGE_PATCH if media == STRATEGIC_PATCH else media, document, patch)
    if made.__class__ is not dict:
        raise _rejected()
    return made


def _json_patch(data: bytes) -> Any:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if value is not None and value.__class__ is not list:
        word = JSON_WORDS[value.__class__]
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type []handlers.jsonPatchOp"
        )
    for operation in value or ():
        if operation.__class__ is not dict and operation is not None:
            word = JSON_WORDS[operation.__class__]
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {word} into Go value of type handlers.jsonPatchOp"
            )
    return value


def _merge_patch(data: bytes) -> Any:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if value is None:
        raise bad_request("Invalid JSON Patch")
    if value.__class__ is not dict:
        word = JSON_WORDS[value.__class__]
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    return value


def _strategic_patch(data: bytes) -> Any:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if value is None:
        return {}
    if value.__class__ is not dict:
        word = JSON_WORDS[value.__class__]
        raise bad_request(f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")
    return value


_READERS: dict[str, Callable[[bytes], Any]] = {
    JSON_PATCH: _json_patch,
    MERGE_PATCH: _merge_patch,
    STRATEGIC_PATCH: _strategic_patch,
}
