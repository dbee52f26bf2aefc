"""Create and update: the verbs whose body is the whole object."""

from msgspec.structs import replace

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.options import write_options
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.resources.storage_keys import precondition_text
from steersman.apiserver.status import advance, bad_request, internal_error, invalid
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.decoding import decode_request
from steersman.apiserver.verbs.write_path import (
    Decoded,
    Existing,
    ObjectWriter,
    place,
    propose,
    without_duplicate_owners,
)
from steersman.json_types import JsonObject
from steersman.validation.field_errors import invalid as invalid_field

NO_NAME = "the name of the object ({} based on URL) was undeterminable: name must be provided"


class CreateAndUpdate:
    """Creates and replaces objects of every kind."""

    def __init__(self, objects: ObjectStore, writer: ObjectWriter) -> None:
        self._objects = objects
        self._writer = writer

    def create(self, request: ApiRequest) -> ApiResponse:
        """Answer a POST to a collection."""
        decoded = decode_request(request, write_options(request.query, "CreateOptions"))
        metadata = decoded.obj["metadata"]
        if request.info.name and not metadata.get("name"):
            metadata["name"] = request.info.name
        committed = self._writer.create(decoded)
        return ApiResponse(201, committed.raw, warnings=committed.warnings)

    def update(self, request: ApiRequest) -> ApiResponse:
        """Answer a PUT of an object or of its status; some kinds are created by it."""
        decoded = advance(_identified, decode_request(request, write_options(request.query, "UpdateOptions")))
        existing = advance(self._find, decoded)
        committed = self._writer.create(decoded) if existing is None else self._writer.write(propose(decoded, existing))
        return ApiResponse(201 if existing is None else 200, committed.raw, warnings=committed.warnings)

    def _find(self, decoded: Decoded) -> Existing | None:
        """Return the live object, if it is the one that the update is about; ``None`` if it is to be created."""
        request, metadata = decoded.request, decoded.obj["metadata"]
        served, name = request.served, request.info.name
        record = self._objects.get(served, request.info.namespace, name)
        if record is None:
            if not served.strategy.creates_on_update(request.info.subresource):
                raise served.not_found(name)
            _check_uid(decoded, "")
            given = metadata.get("resourceVersion", "0")
            if not given.isdigit():
                raise internal_error(_bad_version(given))
            return None
        live = self._objects.document(served, record)
        _check_uid(decoded, record.uid)
        check_version(served, record, metadata)
        return Existing(record, live)


def _identified(decoded: Decoded) -> Decoded:
    """Check that an update is about the object in the URL; list each of its owners once."""
    request, metadata = decoded.request, decoded.obj["metadata"]
    place(request, metadata)
    check_name(request, metadata.get("name", ""))
    duplicates = without_duplicate_owners(request, metadata)
    return replace(decoded, warnings=(*decoded.warnings, *duplicates)) if duplicates else decoded


def check_name(request: ApiRequest, given: str) -> None:
    """Reject an object without a name, or with another one than the URL."""
    if not given:
        raise bad_request(NO_NAME.format(request.info.name))
    check_same_name(given, request.info.name)


def check_same_name(given: str, wanted: str) -> None:
    """Reject an object with another name than the URL; it may have none."""
    if given and given != wanted:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({wanted})")


def _check_uid(decoded: Decoded, uid: str) -> None:
    """Reject an update of another object than the one with this uid; a missing object has an empty one."""
    served, metadata = decoded.request.served, decoded.obj["metadata"]
    given = metadata.get("uid", "")
    if given and given != uid:
        why = f"UID in precondition: {given}, UID in object meta: {uid}"
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        text = precondition_text(served, namespace, name, why, dry_run=decoded.options.dry_run)
        raise served.conflict(name, text)


def check_version(served: ServedResource, record: Record, metadata: JsonObject) -> None:
    """Reject a write that was made from another version than the live one."""
    given = str(metadata.get("resourceVersion") or "")
    if given in ("", "0"):
        if not served.strategy.unconditional_update:
            error = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(served.plural, served.group, record.name, [error])
        return
    if not given.isdigit():
        raise internal_error(_bad_version(given))
    if int(given) != record.version:
        raise served.modified(record.name)


def _bad_version(text: str) -> str:
    return f'strconv.ParseUint: parsing "{text}": invalid syntax'
