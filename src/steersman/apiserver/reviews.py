"""Reviews: questions about who somebody is and what they may do, asked by creating objects that are not kept."""

from collections.abc import Callable, Mapping
from typing import Any

from steersman.apiserver.authentication import Authentication
from steersman.apiserver.authorization import Authorizer
from steersman.apiserver.call import Answer, Call, User
from steersman.apiserver.ownership import Ownership
from steersman.apiserver.request_info import RequestInfo
from steersman.apiserver.status import Refusal, bad_request, invalid
from steersman.apiserver.writing import Writing
from steersman.schema.field_errors import invalid as invalid_field

Document = dict[str, Any]
AUDIENCE = "https://kubernetes.default.svc"
_BASIC_RULES: list[Document] = [
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
]
_ADMIN_RULE: Document = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_PUBLIC_PATHS = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY_PATHS = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]


def user_document(user: User) -> Document:
    """Give a user as reviews tell about them."""
    told: Document = {"username": user.name}
    if user.uid:
        told["uid"] = user.uid
    if user.groups:
        told["groups"] = list(user.groups)
    if user.extra:
        told["extra"] = {key: list(values) for key, values in user.extra}
    return told


class Reviews:
    """Answers every kind of review."""

    def __init__(
        self, writing: Writing, ownership: Ownership, authentication: Authentication, authorizer: Authorizer
    ) -> None:
        self._writing = writing
        self._ownership = ownership
        self._authentication = authentication
        self._authorizer = authorizer
        self._by_kind: Mapping[str, Callable[[Call, Document], Document]] = {
            "SelfSubjectAccessReview": self._self_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token,
        }

    def handles(self, kind: str) -> bool:
        """Tell whether a kind is a review."""
        return kind in self._by_kind

    def create(self, call: Call) -> Answer:
        """Answer a review."""
        obj = self._writing.read_object(call, "CreateOptions")
        if obj["metadata"].get("namespace", "") not in ("", call.info.namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if call.info.namespace:
            obj["metadata"]["namespace"] = call.info.namespace
        obj = self._ownership.created(call.served, obj, call.manager, self._writing.now())
        obj["status"] = self._by_kind[call.served.kind](call, obj)
        return Answer(201, document=obj, is_object=False)

    def _verdict(self, user: User, spec: Document) -> Document:
        attributes = spec.get("resourceAttributes")
        if attributes is not None:
            info = RequestInfo(
                attributes.get("group", ""),
                attributes.get("version", ""),
                attributes.get("resource", ""),
                attributes.get("namespace", ""),
                attributes.get("name", ""),
                attributes.get("subresource", ""),
            )
            return {"allowed": self._authorizer.allows(user, attributes.get("verb", ""), info)}
        path = (spec.get("nonResourceAttributes") or {}).get("path", "")
        return {"allowed": self._authorizer.allows_path(user, path)}

    def _self_access(self, call: Call, obj: Document) -> Document:
        return self._verdict(call.user, obj.get("spec") or {})

    def _access(self, call: Call, obj: Document) -> Document:
        del call
        spec = obj.get("spec") or {}
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
        return self._verdict(user, spec)

    def _local_access(self, call: Call, obj: Document) -> Document:
        given = (obj.get("spec") or {}).get("resourceAttributes", {}).get("namespace", "")
        if given != call.info.namespace:
            error = invalid_field("spec.resourceAttributes.namespace", given, "must match metadata.namespace")
            refusal = invalid("", "authorization.k8s.io", "", [error])
            raise Refusal(422, "Invalid", refusal.message, details=refusal.details)
        return self._access(call, obj)

    def _rules(self, call: Call, obj: Document) -> Document:
        spec = obj.get("spec") or {}
        if not spec.get("namespace"):
            raise bad_request("no namespace on request")
        obj["spec"] = {}
        is_admin = self._authorizer.allows(call.user, "*", RequestInfo("*", "*", "*"))
        paths: list[Document] = [{"verbs": ["get"], "nonResourceURLs": _PUBLIC_PATHS}]
        if is_admin:
            paths.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        paths.append({"verbs": ["get"], "nonResourceURLs": _DISCOVERY_PATHS})
        rules = [*_BASIC_RULES, _ADMIN_RULE] if is_admin else _BASIC_RULES
        return {"resourceRules": rules, "nonResourceRules": paths, "incomplete": False}

    def _self(self, call: Call, obj: Document) -> Document:
        obj["metadata"]["creationTimestamp"] = self._writing.now()
        return {"userInfo": user_document(call.user)}

    def _token(self, call: Call, obj: Document) -> Document:
        del call
        spec = obj.get("spec") or {}
        audiences = spec.get("audiences") or [AUDIENCE]
        user = self._authentication.user_of_token(spec.get("token", ""))
        if user is None or AUDIENCE not in audiences:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": user_document(user), "audiences": [AUDIENCE]}
