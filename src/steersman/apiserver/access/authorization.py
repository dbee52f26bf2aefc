"""What a user may do: what an authorizer is asked, what it answers, and how a refusal is worded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal, details, qualified

#: Members of this group have all permissions, whatever roles say.
PRIVILEGED = "system:masters"
_COLLECTION_VERBS = frozenset({"list", "watch", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and why."""

    allowed: bool
    reason: str = ""


ALLOWED = Decision(allowed=True)


#: Called with the user, the verb, the resource and the decision.
OnDecision: TypeAlias = Callable[[User, str, RequestInfo, Decision], None]


class Authorizer(Protocol):
    """Decides what a user may do."""

    def decide(self, user: User, verb: str, info: RequestInfo) -> Decision:
        """Decide whether a user may do something with a resource."""

    def decide_path(self, user: User, verb: str, path: str) -> Decision:
        """Decide whether a user may use a path that is no resource."""


def is_privileged(user: User) -> bool:
    """Return whether a user may do everything, so that no authorizer has to be asked."""
    return PRIVILEGED in user.groups


def asked_of(verb: str, info: RequestInfo, query: Query) -> RequestInfo:
    """Return what a request is about in the form that authorizers get.

    The namespace of a namespace is itself, and a list of one name is a request for that name.
    """
    if info.resource == "namespaces" and info.name:
        return replace(info, namespace=info.name)
    if not info.name and verb in _COLLECTION_VERBS and "fieldSelector" in query:
        return replace(info, name=_selected_name(query.text("fieldSelector")))
    return info


def verb_asked(verb: str, info: RequestInfo) -> str:
    """Return the verb in the form that authorizers get: a HEAD request is a get or a list."""
    if verb != "head":
        return verb
    return "get" if info.name else "list"


def may_create(authorizer: Authorizer, request: ApiRequest) -> bool:
    """Return whether the user may also create what a request is about."""
    asked = asked_of("create", request.info, request.query)
    return is_privileged(request.user) or authorizer.decide(request.user, "create", asked).allowed


def _selected_name(selector: str) -> str:
    """Return the only name that a field selector can select; empty without one."""
    for part in selector.split(","):
        label, mark, value = part.partition("=")
        name = value.removeprefix("=")
        if mark and label == "metadata.name" and name not in (".", "..") and not set(name) & set("/%\\"):
            return name
    return ""


def forbidden_resource(user: User, verb: str, info: RequestInfo, reason: str = "") -> Refusal:
    """403: the user may not do this with the resource."""
    target = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    name = f' "{info.name}"' if info.name else ""
    why = f": {reason}" if reason else ""
    message = (
        f'{qualified(info.resource, info.group)}{name} is forbidden: User "{user.name}" cannot {verb} resource '
        f'"{target}" in API group "{info.group}" {scope}{why}'
    )
    return Refusal(403, "Forbidden", message, details=details(info.name, info.group, info.resource))


def forbidden_path(user: User, verb: str, path: str, reason: str = "") -> Refusal:
    """403: the user may not use the path."""
    why = f": {reason}" if reason else ""
    message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"{why}'
    return Refusal(403, "Forbidden", message, details={})
