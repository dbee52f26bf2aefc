"""Reviews: who a user is and what they may do, asked by creating an object that is not stored."""

from collections.abc import Callable, Mapping

from steersman.apiserver.access.authentication import Authentication
from steersman.apiserver.access.rbac.authorizer import Rbac, aggregated
from steersman.apiserver.access.rbac.rules import document_of, quoted
from steersman.apiserver.access.service_account_tokens import AUDIENCE
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.messages.selection import parse_labels
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal, advance, bad_request, invalid
from steersman.apiserver.verbs.decoding import decode_unstored
from steersman.apiserver.verbs.write_path import WRONG_NAMESPACE, Decoded
from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError
from steersman.validation.field_errors import invalid as invalid_field

_FORBIDDEN_PATH = "disallowed on this kind of request"


def user_document(user: User) -> JsonObject:
    """Return a user in the form of a review's status."""
    told: JsonObject = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = list(user.groups)
    if user.extra:
        told["extra"] = {key: list(values) for key, values in user.extra}
    return told


class Reviews:
    """Answers every kind of review."""

    def __init__(self, ownership: Ownership, authentication: Authentication, rbac: Rbac) -> None:
        self._ownership = ownership
        self._authentication = authentication
        self._rbac = rbac
        self._by_kind: Mapping[str, Callable[[ApiRequest, JsonObject], JsonObject]] = {
            "SelfSubjectAccessReview": self._self_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token,
        }

    def handles(self, kind: str) -> bool:
        """Return whether a kind is a review."""
        return kind in self._by_kind

    def create(self, request: ApiRequest) -> ApiResponse:
        """Answer a review."""
        decoded = decode_unstored(request, "CreateOptions")
        obj = advance(self._reviewed, decoded)
        return ApiResponse(201, document=obj, is_object=False, warnings=decoded.warnings)

    def _reviewed(self, decoded: Decoded) -> JsonObject:
        request, obj = decoded.request, decoded.obj
        if obj["metadata"].get("namespace", "") not in ("", request.info.namespace):
            raise bad_request(WRONG_NAMESPACE)
        if request.info.namespace:
            obj["metadata"]["namespace"] = request.info.namespace
        obj = self._ownership.created(request.served, obj, request.manager, request.context.now)
        obj["status"] = self._by_kind[request.served.kind](request, obj)
        return obj

    def _verdict(self, user: User, spec: JsonObject) -> JsonObject:
        attributes = spec.get("resourceAttributes")
        if attributes is None:
            asked = spec.get("nonResourceAttributes") or {}
            decision = self._rbac.decide_path(user, asked.get("verb", ""), asked.get("path", ""))
            return _decision(decision.allowed, decision.reason)
        info = RequestInfo(
            attributes.get("group", ""),
            attributes.get("version", ""),
            attributes.get("resource", ""),
            attributes.get("namespace", ""),
            attributes.get("name", ""),
            attributes.get("subresource", ""),
        )
        decision = self._rbac.decide(user, attributes.get("verb", ""), info)
        return {**_decision(decision.allowed, decision.reason), **_selector_faults(attributes)}

    def _self_access(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        spec = obj.get("spec") or {}
        _check(obj, _attribute_errors(spec))
        return self._verdict(request.user, spec)

    def _access(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        del request
        spec = obj.get("spec") or {}
        _check(obj, [*_attribute_errors(spec), *_subject_errors(spec)])
        extra = tuple((key.lower(), tuple(values)) for key, values in (spec.get("extra") or {}).items())
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
        return self._verdict(user, spec)

    def _local_access(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        spec = obj.get("spec") or {}
        given = (spec.get("resourceAttributes") or {}).get("namespace", "")
        errors = [*_attribute_errors(spec), *_subject_errors(spec)]
        if given != request.info.namespace:
            errors.append(invalid_field("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
        if spec.get("nonResourceAttributes") is not None:
            errors.append(invalid_field("spec.nonResourceAttributes", _path_text(spec), _FORBIDDEN_PATH))
        _check({**obj, "metadata": {**obj["metadata"], "namespace": ""}}, errors)
        return self._access(request, {**obj, "metadata": {}})

    def _rules(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        spec = obj.get("spec") or {}
        if not spec.get("namespace"):
            raise bad_request("no namespace on request")
        obj["spec"], obj["metadata"] = {}, {}
        rules, faults = self._rbac.rules(request.user, spec["namespace"])
        told: JsonObject = {
            "resourceRules": [document_of(rule) for rule in rules if rule.resources],
            "nonResourceRules": [document_of(rule) for rule in rules if rule.paths],
            "incomplete": False,
        }
        if faults:
            told["evaluationError"] = aggregated(faults)
        return told

    def _self(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        obj["metadata"]["creationTimestamp"] = request.context.now
        return {"userInfo": user_document(request.user)}

    def _token(self, request: ApiRequest, obj: JsonObject) -> JsonObject:
        del request
        spec = obj.get("spec") or {}
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        asked = spec.get("audiences") or [AUDIENCE]
        verified = self._authentication.verify(spec["token"])
        shared = [] if verified is None else [name for name in asked if name in verified.audiences]
        if verified is None:
            return {"user": {}, "error": "invalid bearer token"}
        if not shared:
            known, wanted = quoted(verified.audiences), quoted(asked)
            why = f"token audiences {known} is invalid for the target audiences {wanted}"
            return {"user": {}, "error": f"[invalid bearer token, {why}]"}
        return {"authenticated": True, "user": user_document(verified.user), "audiences": shared}


def _decision(allowed: bool, reason: str) -> JsonObject:
    return {"allowed": allowed, "reason": reason} if reason else {"allowed": allowed}


def _check(obj: JsonObject, errors: list[FieldError]) -> None:
    """Reject a review without a question, with two, or with metadata."""
    metadata = {key: value for key, value in obj["metadata"].items() if value}
    if set(metadata) - {"managedFields"}:
        errors = [*errors, invalid_field("metadata", metadata, "must be empty")]
    if errors:
        raise invalid("", "authorization.k8s.io", "", errors)


def _attribute_errors(spec: JsonObject) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [invalid_field("spec.nonResourceAttributes", _path_text(spec), why)]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_field("spec.resourceAttributes", None, why)]
    return [
        invalid_field(
            f"spec.resourceAttributes.{kind}.rawSelector",
            selector["rawSelector"],
            "may not specified at the same time as requirements",
        )
        for kind in ("fieldSelector", "labelSelector")
        if (selector := (resource or {}).get(kind)) and selector.get("rawSelector") and selector.get("requirements")
    ]


def _path_text(spec: JsonObject) -> JsonObject:
    asked = spec.get("nonResourceAttributes") or {}
    return {"Path": asked.get("path", ""), "Verb": asked.get("verb", "")}


def _subject_errors(spec: JsonObject) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid_field("spec.user", "", "at least one of user or group must be specified")]


def _selector_faults(attributes: JsonObject) -> JsonObject:
    """Return the error about a selector that cannot be parsed; it is ignored."""
    selector = (attributes.get("labelSelector") or {}).get("rawSelector")
    if not selector:
        return {}
    try:
        parse_labels(selector)
    except Refusal:
        return {"evaluationError": "spec.resourceAttributes.labelSelector ignored due to parse error"}
    return {}
