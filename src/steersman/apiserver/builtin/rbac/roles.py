"""Roles and their bindings: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject
from steersman.validation.object_meta import url_name_faults

_RBAC = "rbac.authorization.k8s.io"


def _default_role_reference(obj: JsonObject) -> None:
    set_default(obj.setdefault("roleRef", {}), apiGroup=_RBAC)
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = _RBAC


def default_binding(obj: JsonObject) -> None:
    """Set the API groups of the role reference and of users and groups."""
    _default_role_reference(obj)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = _RBAC


class RoleStrategy(BuiltinStrategy):
    """Roles and bindings, whose names may be any path segment."""

    create_on_update = True

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error for a name that cannot be a path segment of a URL."""
        return url_name_faults(name, prefix)
