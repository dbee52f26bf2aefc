"""Server-side apply: a patch that says which fields its author wants to own.

The merge of the live object with the configuration computes the owners of all fields, so the result enters the write
path with its owners (`Decoded.is_merged`).
"""

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.bodies import Body, read_configuration, strict_warnings
from steersman.apiserver.messages.options import WriteOptions
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, advance, bad_request, internal_error
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.create_update import check_name, check_same_name, check_version
from steersman.apiserver.verbs.decoding import decoded_object
from steersman.apiserver.verbs.write_path import WRONG_NAMESPACE, Decoded, Existing, ObjectWriter, propose
from steersman.golang.text import quoted
from steersman.json_types import JsonObject
from steersman.validation.wire_types import WireTypeError


class Applying:
    """Applies configurations to objects of every kind."""

    def __init__(self, objects: ObjectStore, writer: ObjectWriter, ownership: Ownership) -> None:
        self._objects = objects
        self._writer = writer
        self._ownership = ownership

    def apply(self, request: ApiRequest, options: WriteOptions) -> ApiResponse:
        """Answer a server-side apply; a missing object is created."""
        record = self._objects.get(request.served, request.info.namespace, request.info.name)
        body = read_configuration(request.http.body)
        config = _checked_configuration(request.served, body.document)
        existing = None if record is None else Existing(record, self._objects.document(request.served, record))
        decoded = self._merged(request, existing, body, options)
        advance(lambda made: _check_configured_name(made.request, config, is_new=existing is None), decoded)
        if existing is None:
            committed = self._writer.create(decoded)
            return ApiResponse(201, committed.raw, warnings=committed.warnings)
        metadata = decoded.obj["metadata"]
        metadata.pop("resourceVersion", None)
        if not request.served.namespaced:
            metadata.pop("namespace", None)
        metadata["resourceVersion"] = existing.document["metadata"]["resourceVersion"]
        committed = self._writer.write(propose(decoded, existing))
        return ApiResponse(200, committed.raw, warnings=committed.warnings)

    def _merged(self, request: ApiRequest, existing: Existing | None, body: Body, options: WriteOptions) -> Decoded:
        """Merge the configuration into the live object; read the result as its kind."""
        served, name, subresource = request.served, request.info.name, request.info.subresource
        if existing is None and subresource and not served.strategy.creates_on_update(subresource):
            raise served.not_found(name)
        _check_identity(served, name, None if existing is None else existing.record, body.document)
        merged = self._ownership.applied(
            served,
            None if existing is None else existing.document,
            body.document,
            request.manager,
            request.context.now,
            force=options.force,
            subresource=subresource,
        )
        warnings = _duplicate_warnings(body.complaints, options)
        try:
            read = served.strategy.applied(merged)
        except WireTypeError as error:
            raise _unconvertible(served, name, str(error)).after(warnings) from None
        return decoded_object(request, options, read, is_merged=True, warnings=warnings)


def _checked_configuration(served: ServedResource, document: JsonObject) -> JsonObject:
    kind, api_version = document.get("kind") or "", document.get("apiVersion") or ""
    if kind != served.kind or api_version != served.api_version:
        group, _, version = str(api_version).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    return document


def _check_configured_name(request: ApiRequest, config: JsonObject, *, is_new: bool) -> None:
    metadata = config.get("metadata") or {}
    given = metadata.get("name") or ""
    if is_new:
        check_name(request, given)
    else:
        check_same_name(given, request.info.name)
    namespace = metadata.get("namespace") or ""
    if namespace and namespace != request.info.namespace and request.served.namespaced:
        raise bad_request(WRONG_NAMESPACE)


def _check_identity(served: ServedResource, name: str, record: Record | None, config: JsonObject) -> None:
    """Reject an apply to another version than the live one, or with a uid to an object that does not exist."""
    metadata = config.get("metadata") or {}
    if record is None:
        if uid := metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise served.conflict(name, why)
        version = metadata.get("resourceVersion") or ""
        if version and not version.isdecimal():
            raise internal_error(f"strconv.ParseUint: parsing {quoted(version)}: invalid syntax")
    elif "resourceVersion" in metadata:
        check_version(served, record, metadata)


def _duplicate_warnings(complaints: list[str], options: WriteOptions) -> tuple[str, ...]:
    """Return warnings about keys that the body sets twice; reject them if the client asked for strict validation."""
    if complaints and options.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {complaints[0]}")
    return tuple(strict_warnings(complaints)) if options.field_validation == "Warn" else ()


def _unconvertible(served: ServedResource, name: str, why: str) -> Refusal:
    """Return the failure of an apply whose result cannot be read as its kind."""
    kind = f"{served.group}/{served.version}, Kind={served.kind}"
    # The error about a quantity names the decoder itself.
    decoding = "" if why.startswith("quantities ") else "error decoding from json: "
    return internal_error(
        f"failed to convert new object (/{name}; {kind}) to proper version: unable to convert unstructured object to "
        f"{kind}: {decoding}{why}"
    )
