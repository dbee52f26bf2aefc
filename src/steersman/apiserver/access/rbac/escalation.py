"""Escalation checks: a user who writes roles or bindings must have the permissions that these grant.

Unless they may ``escalate`` the role, or ``bind`` it.
"""

from collections.abc import Callable

from steersman.apiserver.access.authorization import is_privileged
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.access.rbac.bindings import GROUP
from steersman.apiserver.access.rbac.rules import Rule, missing_rights, quoted, rules_of
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.resources.request_context import User
from steersman.json_types import JsonObject

_EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))
_NOT_ADMIN = "must have cluster-admin privileges to use the aggregationRule"


class Escalation:
    """Checks writes of roles and bindings."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac
        self._checks: dict[str, Callable[[ApiRequest, JsonObject, JsonObject | None], None]] = {
            "roles": self._check_role,
            "clusterroles": self._check_role,
            "rolebindings": self._check_binding,
            "clusterrolebindings": self._check_binding,
        }

    def check(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None) -> None:
        """Reject a role or a binding that grants more than its writer has; other kinds are ignored."""
        if request.served.group != GROUP or is_privileged(request.user):
            return
        check = self._checks.get(request.served.plural)
        if check is not None and not _only_garbage_collection(obj, old):
            check(request, obj, old)

    def _check_role(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None) -> None:
        if self._may(
            request,
            "escalate",
            RequestInfo(GROUP, "*", request.served.plural, request.info.namespace, request.info.name),
        ):
            return
        aggregates = bool(obj.get("aggregationRule") or (old or {}).get("aggregationRule"))
        if old is not None and _same(obj, old, "rules") and _same(obj, old, "aggregationRule"):
            return
        self._check_rules(request, obj["metadata"].get("name", ""), rules_of(obj))
        if aggregates and self._missing(request.user, "", _EVERYTHING):
            raise request.served.forbidden(obj["metadata"].get("name", ""), _NOT_ADMIN)

    def _check_binding(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None) -> None:
        if old is not None and _same(obj, old, "roleRef") and _same(obj, old, "subjects"):
            return
        role, namespace = obj["roleRef"], request.info.namespace
        kind, name = role.get("kind", ""), role.get("name", "")
        plural = "roles" if kind == "Role" else "clusterroles"
        if self._may(request, "bind", RequestInfo(GROUP, "*", plural, namespace, name)):
            return
        rules = self._rbac.bindings.role_rules(kind, name, namespace)
        if rules is None:
            raise request.served.not_found(name)
        self._check_rules(request, obj["metadata"].get("name", ""), rules)

    def _may(self, request: ApiRequest, verb: str, info: RequestInfo) -> bool:
        return self._rbac.decide(request.user, verb, info).allowed

    def _missing(self, user: User, namespace: str, wanted: tuple[Rule, ...]) -> list[str]:
        held, _ = self._rbac.rules(user, namespace)
        return missing_rights(held, wanted)

    def _check_rules(self, request: ApiRequest, name: str, wanted: tuple[Rule, ...]) -> None:
        held, faults = self._rbac.rules(request.user, request.info.namespace)
        missing = missing_rights(held, wanted)
        if not missing:
            return
        lines = "\n".join(missing)
        why = (
            f'user "{request.user.name}" (groups={quoted(request.user.groups)}) is attempting to grant RBAC '
            f"permissions not currently held:\n{lines}"
        )
        if faults:
            why += f"; resolution errors: [{' '.join(faults)}]"
        raise request.served.forbidden(name, why)


def _same(obj: JsonObject, old: JsonObject, key: str) -> bool:
    return (obj.get(key) or None) == (old.get(key) or None)


def _only_garbage_collection(obj: JsonObject, old: JsonObject | None) -> bool:
    """Return whether a write changes only owners and finalizers, as the garbage collector does."""
    if old is None:
        return False
    ignored = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")

    def rest(document: JsonObject) -> JsonObject:
        kept = {key: value for key, value in document["metadata"].items() if key not in ignored}
        return {**document, "metadata": kept}

    return rest(obj) == rest(old)
