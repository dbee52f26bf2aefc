"""TokenRequest: a token for a service account, requested by creating an object that is not stored."""

from functools import cache

from steersman.apiserver.access.service_account_tokens import AUDIENCE, BOUND_TO, Bound, ServiceAccountTokens
from steersman.apiserver.admission.chain import Admission, Review
from steersman.apiserver.builtin import types as builtin_types
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.options import write_options
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import advance, bad_request, conflict, invalid, not_found
from steersman.apiserver.verbs.decoding import read_request_body
from steersman.apiserver.verbs.write_path import WRONG_NAMESPACE
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.identity import GroupVersionKind
from steersman.objects.times import format_time
from steersman.validation.field_errors import FieldError
from steersman.validation.field_errors import invalid as invalid_field

_KIND = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_SHORTEST, _LONGEST, _USUAL = 600, 1 << 32, 3600


@cache
def _endpoint() -> Endpoint:
    empty: JsonObject = {"spec": {"boundObjectRef": {}}}
    return Endpoint(api_version=_KIND.api_version, type=builtin_types.type_of(_KIND), subresource="token", empty=empty)


class TokenRequests:
    """Answers requests for tokens."""

    def __init__(self, objects: ObjectStore, admission: Admission, tokens: ServiceAccountTokens) -> None:
        self._objects = objects
        self._admission = admission
        self._tokens = tokens

    def answer(self, request: ApiRequest) -> ApiResponse:
        """Answer a request with a token."""
        options = write_options(request.query, "CreateOptions")
        obj = self._read(request)
        review = self._admission.review_unstored(request, obj, options) if self._admission.is_active else Review(obj)
        document = advance(lambda value: self._issue(request, value.obj), review)
        return ApiResponse(201, document=document, is_object=False, warnings=review.warnings)

    def _read(self, request: ApiRequest) -> JsonObject:
        """Read a request, with its defaults and its owner."""
        body = read_request_body(request, "TokenRequest").document
        metadata, spec = dict(body.get("metadata") or {}), dict(body.get("spec") or {})
        if metadata.get("namespace", "") not in ("", request.info.namespace):
            raise bad_request(WRONG_NAMESPACE)
        metadata["namespace"] = request.info.namespace
        spec.setdefault("expirationSeconds", _USUAL)
        obj = {"kind": _KIND.kind, "apiVersion": _KIND.api_version, "metadata": metadata, "spec": spec}
        return updater.create(obj, request.manager, endpoint=_endpoint(), time=request.context.now)

    def _issue(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        record = self._objects.get(request.served, request.info.namespace, request.info.name)
        if record is None:
            raise request.served.not_found(request.info.name)
        metadata, spec = obj["metadata"], obj["spec"]
        _check(metadata.get("name", ""), record.name)
        metadata["name"] = record.name
        if errors := _lifetime_errors(spec["expirationSeconds"]):
            raise invalid(_KIND.kind, _KIND.group, "", errors)
        audiences = spec.get("audiences") or [AUDIENCE]
        bound = self._bound(request, spec.get("boundObjectRef"), record.name)
        account = (record.namespace, record.name, record.uid)
        token, end = self._tokens.issue(account, audiences, spec["expirationSeconds"], bound)
        shown = {
            "name": record.name,
            "namespace": record.namespace,
            "uid": record.uid,
            "creationTimestamp": request.context.now,
        }
        if "managedFields" in metadata:
            shown["managedFields"] = metadata["managedFields"]
        answered = {**spec, "audiences": audiences, "boundObjectRef": spec.get("boundObjectRef")}
        status = {"token": token, "expirationTimestamp": format_time(end)}
        return {**obj, "metadata": shown, "spec": answered, "status": status}

    def _bound(self, request: ApiRequest, reference: JsonObject | None, account: str) -> Bound | None:
        """Return the object to which a token is to be bound."""
        if reference is None:
            return None
        kind, name = reference.get("kind", ""), reference.get("name", "")
        plural = BOUND_TO.get(kind)
        if plural is None:
            group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        record = self._objects.store.get(plural, "" if kind == "Node" else request.info.namespace, name)
        if record is None:
            raise not_found(plural, "", name)
        if kind == "Pod" and decode_json(record.raw)["spec"].get("serviceAccountName", "") != account:
            why = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
            raise bad_request(why)
        uid = reference.get("uid") or record.uid
        if uid != record.uid:
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise conflict(kind, "", name, why)
        return Bound(kind, name, uid)


def _check(given: str, name: str) -> None:
    if given and given != name:
        error = invalid_field("metadata.name", given, "must match the service account name if specified")
        raise invalid(_KIND.kind, _KIND.group, name, [error])


def _lifetime_errors(seconds: int) -> list[FieldError]:
    if seconds < _SHORTEST:
        return [invalid_field("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
        return [invalid_field("spec.expirationSeconds", seconds, why)]
    return []
