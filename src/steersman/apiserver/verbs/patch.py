"""Patch: JSON patch, merge patch and strategic merge patch; ``apply`` serves the fourth media type."""

import re
from collections.abc import Callable
from typing import Any

from msgspec.json import decode, encode

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.bodies import check_size, parse_json
from steersman.apiserver.messages.negotiation import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    media_type,
    patch_media,
)
from steersman.apiserver.messages.options import WriteOptions, write_options
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import refusal_of
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.resources.strategy import strict_errors
from steersman.apiserver.status import Refusal, advance, bad_request, invalid
from steersman.apiserver.verbs.apply import Applying
from steersman.apiserver.verbs.create_update import NO_NAME, check_name, check_version
from steersman.apiserver.verbs.decoding import decoded_object
from steersman.apiserver.verbs.write_path import (
    Decoded,
    Existing,
    ObjectWriter,
    Proposed,
    ordered,
    place,
    propose,
    without_duplicate_owners,
)
from steersman.errors import ApiError, DecodeError
from steersman.golang.strict_json import JSON_WORDS, decode_json, settle_numbers, strict_message
from steersman.golang.text import json_text, plain
from steersman.json_types import JsonObject
from steersman.protocol.patches import (
    MalformedPatch,
    PatchError,
    PatchTooExpensive,
    apply_json_patch,
    apply_merge_patch,
)
from steersman.validation.field_errors import invalid as invalid_field
from steersman.validation.wire_types import WireTypeError

_REJECTED = "the server rejected our request due to an error in our request"


class Patching:
    """Patches objects of every kind."""

    def __init__(self, objects: ObjectStore, writer: ObjectWriter, applying: Applying) -> None:
        self._objects = objects
        self._writer = writer
        self._applying = applying

    def patch(self, request: ApiRequest) -> ApiResponse:
        """Answer a PATCH of an object or of one of its parts."""
        media = patch_media(request.http.headers.get("content-type", ""), builtin=request.served.builtin)
        options = write_options(request.query, "PatchOptions", applying=media == APPLY_PATCH)
        check_size(request.http.body)
        if media == APPLY_PATCH:
            return self._applying.apply(request, options)
        patch = _READERS[media](request.http.body)
        record = self._objects.get(request.served, request.info.namespace, request.info.name)
        if record is None:
            raise request.served.not_found(request.info.name)
        existing = Existing(record, self._objects.document(request.served, record))
        decoded = self._decoded(request, existing, media, patch, options)
        proposed = advance(lambda value: _proposed(value, existing), decoded)
        committed = self._writer.write(proposed)
        return ApiResponse(200, committed.raw, warnings=committed.warnings)

    def _decoded(
        self, request: ApiRequest, existing: Existing, media: str, patch: Any, options: WriteOptions
    ) -> Decoded:
        """Return the patched live object, read as its kind; an unreadable result is quoted as the patch made it."""
        served, live = request.served, existing.document
        try:
            return _decode(request, _merged(served, media, live, patch), options)
        except _UnreadableError as fault:
            if media == STRATEGIC_PATCH:
                raise invalid("", "", "", [invalid_field("patch", plain(patch), _restore_fault(fault.why))]) from None
            # Reading has changed the document, so it is merged again.
            again = _merged(served, media, self._objects.document(served, existing.record), patch)
            is_field = isinstance(fault, _UnreadableFieldError)
            first = self._first_fault(served, existing, media, patch) if is_field else ""
            raise bad_result(again, first or fault.why) from None

    def _first_fault(self, served: ServedResource, existing: Existing, media: str, patch: Any) -> str:
        """Return why a patched object cannot be read, with its fields in the order in which kube-apiserver has them."""
        live = self._objects.document(served, existing.record)
        if served.builtin:
            live = {**live, "metadata": ordered(live["metadata"])}
        else:
            live = decode(encode(live, order="sorted"))
        try:
            served.strategy.read(dict(_merged(served, media, live, patch)))
        except WireTypeError as error:
            return str(error)
        return ""


def _merged(served: ServedResource, media: str, live: JsonObject, patch: Any) -> Any:
    if media == STRATEGIC_PATCH:
        # 80.0 is another key than 80, but becomes the same port.
        return settle_numbers(served.strategy.strategic_merge(live, patch))
    return patched(media, live, patch)


def _proposed(decoded: Decoded, existing: Existing) -> Proposed:
    """Return the update that a patch amounts to; without a resourceVersion it applies to the live version."""
    request, metadata = decoded.request, decoded.obj["metadata"]
    check_name(request, metadata.get("name", ""))
    place(request, metadata)
    try:
        check_version(request.served, existing.record, metadata)
    except Refusal as refusal:
        raise refusal.after(without_duplicate_owners(request, metadata)) from None
    metadata["resourceVersion"] = existing.document["metadata"]["resourceVersion"]
    return propose(decoded, existing)


def _decode(request: ApiRequest, document: object, options: WriteOptions) -> Decoded:
    """Read a patched document; errors are reported about the patch."""
    if document.__class__ is not dict:
        raise _rejected()
    served = request.served
    if not served.builtin:
        _check_typed(document)
    elif media_type(request.http.headers.get("content-type", "")) != STRATEGIC_PATCH:
        _check_same_type(request, document)
    duplicates, has_fractions = _read_again(request.http.body)
    try:
        read = served.strategy.read(dict(document), marks_empty=True)
    except WireTypeError as error:
        raise _UnreadableFieldError(str(error)) from None
    faults = strict_errors(duplicates, read.unknown)
    if faults and options.field_validation == "Strict":
        raise _UnreadableError(strict_message(faults))
    warnings = tuple(faults) if options.field_validation == "Warn" else ()
    return decoded_object(request, options, read, has_fractions=has_fractions, warnings=warnings)


def _check_same_type(request: ApiRequest, document: JsonObject) -> None:
    """Reject a document of a built-in kind to which a patch gave another type; only the kind may be left out."""
    served = request.served
    kind, api_version = document.get("kind") or served.kind, document.get("apiVersion")
    if not api_version:
        # Such a document is read as one of no version, which knows none of its fields.
        unknown = [f'unknown field "{key}"' for key in sorted(document) if key not in ("kind", "apiVersion")]
        raise bad_request(NO_NAME.format(request.info.name)).after(unknown)
    if kind != served.kind or api_version != served.api_version:
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise _UnreadableError(text)


def _read_again(patch: bytes) -> tuple[list[str], bool]:
    """Return the errors about members that a patch has twice, and whether it has numbers with fractions."""
    try:
        found = decode_json(patch)
    except DecodeError:
        return [], False
    return [f'duplicate field "{path}"' for path in found.duplicates], found.has_floats


def _rejected() -> Refusal:
    return Refusal(422, "Invalid", _REJECTED, details={})


class _UnreadableError(Exception):
    """A patched object cannot be read as its kind; ``why`` is the decoder's error."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _UnreadableFieldError(_UnreadableError):
    """A field has a value of another type. There may be several, and the order of fields decides which is reported."""


#: Error of Go's decoder → error of a strategic merge about the same value.
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


def _check_typed(document: JsonObject) -> None:
    """Reject a custom object that a patch has left without a kind or an API version."""
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if value is not None and value.__class__ is not str:
            word = JSON_WORDS[value.__class__]
            why = f"json: cannot unmarshal {word} into Go struct field .{key} of type string"
            raise _UnreadableError(f"couldn't get version/kind; json parse error: {why}")
    if not document.get("kind"):
        raise _UnreadableError(f"Object 'Kind' is missing in '{json_text(document)}'")
    if not document.get("apiVersion"):
        missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        text = f"Internal error occurred: {missing}"
        raise Refusal(500, "InternalError", text, details={"causes": [{"message": missing}]})


def bad_result(document: JsonObject, why: str) -> Refusal:
    """422: the patched object cannot be read; it is quoted as the patch left it."""
    return invalid("", "", "", [invalid_field("patch", json_text(document), why)])


def _without_nulls_in_lists(patch: object, *, is_inside: bool = False) -> object:
    """Remove null members from objects inside the lists of a merge patch, where a null deletes nothing."""
    if patch.__class__ is dict:
        return {
            key: _without_nulls_in_lists(part, is_inside=is_inside)
            for key, part in patch.items()
            if part is not None or not is_inside
        }
    if patch.__class__ is list:
        return [_without_nulls_in_lists(part, is_inside=True) for part in patch]
    return patch


def patched(media: str, live: JsonObject, patch: object) -> Any:
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


def patch_document(media: str, document: JsonObject, data: bytes) -> JsonObject:
    """Patch a document without a kind's rules: a strategic merge is a plain merge there."""
    patch = _READERS[media](data)
    made = patched(MERGE_PATCH if media == STRATEGIC_PATCH else media, document, patch)
    if made.__class__ is not dict:
        raise _rejected()
    return made


def _json_patch(data: bytes) -> object:
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
        for name in ("op", "path", "from"):
            given = (operation or {}).get(name)
            if given is not None and given.__class__ is not str:
                raise bad_request(
                    f"error decoding patch: json: cannot unmarshal {JSON_WORDS[given.__class__]} into Go struct field "
                    f"jsonPatchOp.{name} of type string"
                )
    # Go reads null as an operation without anything.
    return value and [{} if operation is None else operation for operation in value]


def _merge_patch(data: bytes) -> object:
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


def _strategic_patch(data: bytes) -> object:
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
