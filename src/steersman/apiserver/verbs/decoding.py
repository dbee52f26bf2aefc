"""From the body of a request to a `Decoded` object: read as the served kind, with defaults, errors and warnings."""

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.bodies import Body, read_body, strict_warnings
from steersman.apiserver.messages.negotiation import body_media
from steersman.apiserver.messages.options import WriteOptions, write_options
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.resources.strategy import ReadObject, strict_errors
from steersman.apiserver.status import bad_request
from steersman.apiserver.verbs.write_path import Decoded
from steersman.golang.empty_values import without_empties
from steersman.golang.strict_json import (
    as_written,
    cannot_handle_message,
    in_document_order,
    strict_message,
    unrecognized_message,
)
from steersman.json_types import JsonObject
from steersman.validation.wire_types import WireTypeError


def decode_request(request: ApiRequest, options: WriteOptions) -> Decoded:
    """Read the body of a create or an update."""
    return decode(request, read_request_body(request, request.served.kind), options)


def read_request_body(request: ApiRequest, kind: str) -> Body:
    """Read the body of a request as a document; ``kind`` is what messages call it."""
    media = body_media(request.http.headers.get("content-type", ""))
    return read_body(request.http.body, media, kind)


def decode_unstored(request: ApiRequest, kind: str) -> Decoded:
    """Read the body of a request whose object is not stored; ``kind`` is the name of its options."""
    decoded = decode_request(request, write_options(request.query, kind))
    if decoded.given is None:
        return decoded
    obj: JsonObject = without_empties(decoded.given)
    return Decoded(request, decoded.options, obj, warnings=decoded.warnings)


def decode(request: ApiRequest, body: Body, options: WriteOptions) -> Decoded:
    """Read a document as the served kind; unknown and duplicate fields become warnings or a rejection."""
    served = request.served
    document = _typed(served, body.document, request.http.body, lenient=options.field_validation == "Ignore")
    try:
        read = served.strategy.read(document, marks_empty=True)
    except WireTypeError as error:
        kind = body.document.get("kind") or served.kind
        why = as_written(str(error), request.http.body)
        raise bad_request(_cannot_handle(kind, served, why)) from None
    warnings: tuple[str, ...] = ()
    if body.complaints or read.unknown:
        errors = strict_errors(body.complaints, read.unknown)
        if served.builtin and body.complaints and read.unknown and request.http.body[:1] == b"{":
            errors = in_document_order(request.http.body, errors)
        warnings = tuple(_strict_warnings(served, errors, options))
    return decoded_object(request, options, read, has_fractions=body.has_floats, warnings=warnings)


def decoded_object(
    request: ApiRequest,
    options: WriteOptions,
    read: ReadObject,
    *,
    has_fractions: bool = False,
    is_merged: bool = False,
    warnings: tuple[str, ...] = (),
) -> Decoded:
    """Return an object that a strategy has read; marks of what was given empty are kept in `Decoded.given` only."""
    if not read.has_marks:
        return Decoded(request, options, read.obj, None, has_fractions, is_merged, warnings)
    clean: JsonObject = without_empties(read.obj, keeps_lists=True)
    return Decoded(request, options, clean, read.obj, has_fractions, is_merged, warnings)


def _typed(served: ServedResource, document: JsonObject, raw: bytes, *, lenient: bool) -> JsonObject:
    """Check apiVersion and kind; built-in kinds may leave them out."""
    if served.builtin:
        return served.strategy.typed(document, served)
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not kind:
        why = f"Object 'Kind' is missing in '{raw.decode('utf-8', 'replace')}'"
        raise bad_request(
            _cannot_handle(served.kind, served, why) if lenient else unrecognized_message(raw, served.kind, why)
        )
    if api_version != served.api_version:
        raise bad_request(
            f"the API version in the data ({api_version or ''}) does not match the expected API version "
            f"({served.api_version})"
        )
    return document


def _strict_warnings(served: ServedResource, errors: list[str], options: WriteOptions) -> list[str]:
    """Return unknown and duplicate fields as warnings; reject them if the client asked for strict validation."""
    if options.field_validation == "Ignore":
        return []
    if options.field_validation == "Strict":
        raise bad_request(cannot_handle_message(served.kind, served.version, strict_message(errors)))
    return strict_warnings(errors)


def _cannot_handle(kind: str, served: ServedResource, why: str) -> str:
    return f'{kind} in version "{served.version}" cannot be handled as a {served.kind}: {why}'
