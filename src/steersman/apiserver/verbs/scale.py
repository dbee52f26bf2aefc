"""Scale: the number of replicas of an object, as an object of its own."""

from functools import cache

from msgspec.structs import replace

from steersman.apiserver.admission.chain import Admission, Review
from steersman.apiserver.builtin import types as builtin_types
from steersman.apiserver.builtin.go_structs import message_of, struct
from steersman.apiserver.custom.strategy import CustomStrategy
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.managed_fields.scale import Entries, parent_entries, scale_entries
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.bodies import check_size, parse_json, read_body, read_configuration
from steersman.apiserver.messages.negotiation import APPLY_PATCH, STRATEGIC_PATCH, body_media, patch_media
from steersman.apiserver.messages.options import WriteOptions, write_options
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.json_path import get_at, set_at, simple_path
from steersman.apiserver.resources.label_selectors import selector_text
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import refusal_of
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, advance, bad_request, internal_error, invalid
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.create_update import check_same_name
from steersman.apiserver.verbs.patch import bad_result, patch_document
from steersman.apiserver.verbs.write_path import Decoded, Existing, ObjectWriter, propose
from steersman.errors import ApiError
from steersman.golang.equality import json_equal
from steersman.golang.strict_json import JSON_WORDS, strict_message
from steersman.golang.text import plain
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.validation.field_errors import FieldError
from steersman.validation.field_errors import invalid as invalid_field
from steersman.validation.wire_types import Reading, WireTypeError

_NO_CONVERSION = "request to convert CR to an invalid group/version: autoscaling/v1"
_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_BUILTIN_PATHS = (("spec", "replicas"), ("status", "replicas"))


@cache
def _endpoint() -> Endpoint:
    """Return the endpoint of writes to a scale."""
    return Endpoint(api_version="autoscaling/v1", type=builtin_types.type_of(_SCALE), subresource="scale")


class Scaling:
    """Reads and writes the scale of objects."""

    def __init__(self, objects: ObjectStore, catalog: Catalog, writer: ObjectWriter, admission: Admission) -> None:
        self._objects = objects
        self._catalog = catalog
        self._writer = writer
        self._admission = admission

    def get(self, request: ApiRequest) -> ApiResponse:
        """Answer a GET of a scale."""
        record = self._record(request)
        return ApiResponse(200, document=self._scale(request.served, record), is_object=False)

    def _record(self, request: ApiRequest) -> Record:
        record = self._objects.get(request.served, request.info.namespace, request.info.name)
        if record is None:
            raise request.served.not_found(request.info.name)
        return record

    def update(self, request: ApiRequest) -> ApiResponse:
        """Answer a PUT of a scale."""
        options = write_options(request.query, "UpdateOptions")
        record = self._record(request)
        media = body_media(request.http.headers.get("content-type", ""))
        wanted = read_body(request.http.body, media, "Scale").document
        if fault := _type_fault(wanted, is_strict=options.field_validation == "Strict"):
            raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {fault}')
        return self._write(request, record, wanted, options)

    def patch(self, request: ApiRequest) -> ApiResponse:
        """Answer a PATCH of a scale."""
        media = patch_media(request.http.headers.get("content-type", ""), builtin=request.served.builtin)
        options = write_options(request.query, "PatchOptions", applying=media == APPLY_PATCH)
        check_size(request.http.body)
        record = self._record(request)
        live = self._scale(request.served, record, missing=0)
        if media == APPLY_PATCH:
            return self._apply(request, record, live, options)
        wanted = patch_document(media, live, request.http.body)
        if fault := _type_fault(wanted, is_strict=options.field_validation == "Strict"):
            if media != STRATEGIC_PATCH and wanted.__class__ is dict:
                owned = self._owned(request.served, self._objects.document(request.served, record), live)
                raise bad_result(patch_document(media, owned, request.http.body), fault)
            shown = plain(parse_json(request.http.body))
            why = "unrecognized type: int32" if fault.endswith(" of type int32") else fault
            raise invalid("", "", "", [invalid_field("patch", shown, why)])
        return self._write(request, record, wanted, options)

    def _apply(self, request: ApiRequest, record: Record, live: JsonObject, options: WriteOptions) -> ApiResponse:
        """Apply a scale; that of a custom resource accepts only its current values, then owned by the manager, too."""
        parent = self._objects.document(request.served, record)
        config = read_configuration(request.http.body).document
        owned = self._owned(request.served, parent, live)
        if not request.served.builtin and not owned["metadata"].get("managedFields"):
            text = "failed to create manager for existing fields: failed to convert live object "
            raise internal_error(f"{text}(/; autoscaling/v1, Kind=Scale) to proper version: {_NO_CONVERSION}")
        try:
            made = updater.apply(
                owned, config, request.manager, endpoint=_endpoint(), time=request.context.now, force=options.force
            )
        except ApiError as error:
            raise refusal_of(error) from None
        if not request.served.builtin and not _is_same(owned, made):
            named = (config.get("metadata") or {}).get("name") or ""
            text = f"failed to convert new object (/{named}; autoscaling/v1, Kind=Scale) to proper version: "
            raise internal_error(f"{text}{_NO_CONVERSION}")
        return self._write(request, record, made, options, entries=made["metadata"].get("managedFields") or [])

    def _paths(self, served: ServedResource) -> dict[str, tuple[str, ...] | None]:
        """Return the path of the replicas in every served version."""
        versions = self._catalog.versions_of(served.group, served.plural)
        return {
            other.api_version: self._spec_path(other) if "scale" in other.subresources else None for other in versions
        }

    def _owned(self, served: ServedResource, parent: JsonObject, scale: JsonObject) -> JsonObject:
        """Return a scale with the managers that own its replicas."""
        listed = scale_entries(parent["metadata"].get("managedFields") or [], self._paths(served))
        if not listed:
            return scale
        return {**scale, "metadata": {**scale["metadata"], "managedFields": listed}}

    def _entries(self, request: ApiRequest, parent: JsonObject, scale: JsonObject, replicas: int) -> Entries:
        """Return the managers that own the replicas after a write to the scale."""
        owned = self._owned(request.served, parent, scale)
        # 0 replicas are left out, so no manager owns them.
        made = {**owned, "spec": {"replicas": replicas} if replicas else {}}
        written = updater.update(owned, made, request.manager, endpoint=_endpoint(), time=request.context.now)
        listed: Entries = written["metadata"].get("managedFields") or []
        return listed

    def _write(
        self,
        request: ApiRequest,
        record: Record,
        wanted: JsonObject,
        options: WriteOptions,
        *,
        entries: Entries | None = None,
    ) -> ApiResponse:
        review = self._admitted(request, record, wanted, options)
        replicas = _replicas(review.obj)
        decoded = advance(lambda value: self._scaled(request, record, value.obj, options, entries), review)
        live = self._objects.document(request.served, record)
        committed = self._writer.write(propose(replace(decoded, warnings=review.warnings), Existing(record, live)))
        after = self._objects.get(request.served, record.namespace, record.name) or record
        scale = self._scale(request.served, after, missing=replicas)
        if options.dry_run:
            scale["spec"] = {"replicas": replicas} if replicas else {}
        return ApiResponse(200, document=scale, is_object=False, warnings=committed.warnings)

    def _scaled(
        self,
        request: ApiRequest,
        record: Record,
        wanted: JsonObject,
        options: WriteOptions,
        entries: Entries | None,
    ) -> Decoded:
        """Return the object with the replicas of a scale, and with the owners that the scale gives them."""
        served = request.served
        errors = _errors(wanted)
        if errors and served.builtin:
            raise invalid("Scale", "autoscaling", record.name, errors)
        metadata = wanted.get("metadata") or {}
        check_same_name(metadata.get("name", ""), record.name)
        self._check(served, record, metadata)
        obj = self._objects.document(served, record)
        before = obj["metadata"].get("managedFields") or []
        replicas = _replicas(wanted)
        if entries is None:
            entries = self._entries(request, obj, self._scale(served, record, missing=0), replicas)
        kept = parent_entries(before, entries, self._paths(served), served.api_version)
        set_at(obj, self._spec_path(served), replicas)
        obj["metadata"].pop("managedFields", None)
        if kept:
            obj["metadata"]["managedFields"] = kept
        return Decoded(request, options, obj, is_merged=True)

    def _admitted(self, request: ApiRequest, record: Record, wanted: JsonObject, options: WriteOptions) -> Review:
        """Mutate and validate a scale, which is an object of its own to webhooks."""
        if not self._admission.is_active:
            return Review(wanted)
        live = self._scale(request.served, record)
        metadata = {**live["metadata"], **(wanted.get("metadata") or {})}
        head = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
        wanted = {**head, "spec": wanted.get("spec") or {}, "status": live["status"]}
        return self._admission.review_scale(request, wanted, live, options)

    def _check(self, served: ServedResource, record: Record, metadata: JsonObject) -> None:
        uid = metadata.get("uid", "")
        if uid and uid != record.uid:
            raise served.conflict(
                record.name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: {record.uid}"
            )
        if (given := metadata.get("resourceVersion", "")) and given != record.resource_version:
            raise served.modified(record.name)

    @staticmethod
    def _spec_path(served: ServedResource) -> tuple[str, ...]:
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
            return simple_path(strategy.scale["specReplicasPath"])
        return _BUILTIN_PATHS[0]

    def _scale(self, served: ServedResource, record: Record, *, missing: int | None = None) -> JsonObject:
        """Return the scale of an object; ``missing`` is the number of replicas if a custom resource has none."""
        obj = self._objects.document(served, record)
        metadata = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
            replicas = get_at(obj, simple_path(strategy.scale["specReplicasPath"]))
            replicas = missing if replicas is None else replicas
            if replicas is None:
                raise _missing_path(strategy.scale["specReplicasPath"])
            current = get_at(obj, simple_path(strategy.scale["statusReplicasPath"])) or 0
            selector = get_at(obj, simple_path(strategy.scale.get("labelSelectorPath") or "")) or ""
            selector = selector if strategy.scale.get("labelSelectorPath") else ""
        else:
            replicas, current = get_at(obj, _BUILTIN_PATHS[0]) or 0, get_at(obj, _BUILTIN_PATHS[1]) or 0
            given = obj["spec"].get("selector")
            plain = {"matchLabels": given} if served.kind == "ReplicationController" else given
            selector = selector_text(plain)
        status: JsonObject = {"replicas": current}
        if selector:
            status["selector"] = selector
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: metadata[name] for name in kept if name in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }


def _type_fault(scale: object, *, is_strict: bool) -> str:
    """Return why a document cannot be read as a Scale, or an empty text; unknown fields are errors if ``is_strict``."""
    if scale.__class__ is not dict:
        return f"json: cannot unmarshal {JSON_WORDS[scale.__class__]} into Go value of type map[string]interface {{}}"
    content = {key: value for key, value in scale.items() if key not in ("apiVersion", "kind")}
    reading = Reading()
    try:
        struct(message_of(_SCALE)).read(content, "", reading)
    except WireTypeError as error:
        return str(error)
    faults = [f'unknown field "{path}"' for path in reading.unknown] if is_strict else []
    return strict_message(faults) if faults else ""


def _is_same(scale: JsonObject, other: JsonObject) -> bool:
    """Return whether two scales are equal except for their managed fields."""
    left, right = ({**one, "metadata": {**one["metadata"], "managedFields": None}} for one in (scale, other))
    return json_equal(left, right)


def _replicas(scale: JsonObject) -> int:
    """Return the replicas of a Scale, 0 if it has none."""
    return (scale.get("spec") or {}).get("replicas") or 0


def _errors(scale: JsonObject) -> list[FieldError]:
    replicas = _replicas(scale)
    if replicas < 0:
        return [invalid_field("spec.replicas", replicas, "must be greater than or equal to 0")]
    return []


def _missing_path(path: str) -> Refusal:
    text = f'the spec replicas field "{path}" does not exist'
    details = {"causes": [{"message": text}]}
    return Refusal(500, "InternalError", f"Internal error occurred: {text}", details=details)
