"""An operator's account and roles as objects, from the permissions of ``manager.permissions``."""

from typing import Final

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.manager.rbac import READ, RoleRules, roles_of
from steersman.objects.resource import resource_of
from steersman.scaffold.manifests.shape import Shape, metadata, name_of
from steersman.schema.declaration import is_custom

_RBAC: Final = "rbac.authorization.k8s.io"


def permission_objects(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return the account of an operator and its roles."""
    name = name_of(operator)
    made: list[JsonObject] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(name, of=name, namespace=shape.namespace),
            "automountServiceAccountToken": False,
        }
    ]
    for role in _roles(operator, shape):
        made += _objects(role, name, shape)
    return made


def _roles(operator: Operator, shape: Shape) -> list[RoleRules]:
    return roles_of(operator, home=shape.namespace, watch=shape.watch, webhook_secret=shape.webhook_secret)


def _objects(role: RoleRules, account: str, shape: Shape) -> list[JsonObject]:
    """Return a role and its binding to the operator's account."""
    kind = "Role" if role.namespace else "ClusterRole"
    meta = metadata(role.name, of=account, namespace=role.namespace)
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "rules": role.rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role.name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": shape.namespace}],
        },
    ]


def user_role_objects(operator: Operator) -> list[JsonObject]:
    """Return roles to view and to edit the operator's custom kinds; the built-in user roles aggregate them."""
    name = name_of(operator)
    resources: dict[str, list[str]] = {}
    for kind in operator.kinds:
        if is_custom(kind):
            plural = resource_of(kind).plural
            known = resources.setdefault(resource_of(kind).gvk.group, [])
            if plural not in known:
                known.append(plural)
    if not resources:
        return []
    roles = (
        ("viewer", ("view", "edit", "admin"), READ),
        ("editor", ("edit", "admin"), (*READ, "create", "update", "patch", "delete", "deletecollection")),
    )
    made = []
    for role, gathered, verbs in roles:
        meta = metadata(f"{name}-{role}", of=name)
        meta["labels"] |= {f"{_RBAC}/aggregate-to-{into}": "true" for into in gathered}
        rules: list[JsonObject] = []
        for group, plurals in resources.items():
            rules.append({"apiGroups": [group], "resources": plurals, "verbs": list(verbs)})
            parts = [f"{plural}/status" for plural in plurals]
            rules.append({"apiGroups": [group], "resources": parts, "verbs": ["get"]})
        made.append({"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
    return made
