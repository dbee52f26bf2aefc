"""Registration of roles and role bindings."""

from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.rbac.roles import RoleStrategy, default_binding

_GROUP = "rbac.authorization.k8s.io"
KINDS = (
    BuiltinKind(
        _GROUP,
        "Role",
        strategy=RoleStrategy,
        validation="rbac.validation:role_errors",
    ),
    BuiltinKind(
        _GROUP,
        "ClusterRole",
        strategy=RoleStrategy,
        validation="rbac.validation:cluster_role_errors",
    ),
    BuiltinKind(
        _GROUP,
        "RoleBinding",
        strategy=RoleStrategy,
        defaults=default_binding,
        validation="rbac.validation:binding_errors",
        columns="rbac.columns:BINDING",
    ),
    BuiltinKind(
        _GROUP,
        "ClusterRoleBinding",
        strategy=RoleStrategy,
        defaults=default_binding,
        validation="rbac.validation:cluster_binding_errors",
        columns="rbac.columns:BINDING",
    ),
)
