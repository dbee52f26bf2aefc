"""The least that an operator must be allowed, from what it declares: what it reconciles, owns, watches and asks for.

There are no wildcards, and nothing that the framework does not use: it writes by patches, so no ``update`` of objects.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from steersman.controller.declaration import Reconciler
from steersman.manager.operator import Operator
from steersman.objects.identity import ApiResource
from steersman.objects.resource import resource_of
from steersman.scaffold.manifests.shape import Shape, metadata, name_of
from steersman.schema.declaration import is_custom

_READ: Final = ("get", "list", "watch")
_OWN: Final = (*_READ, "create", "patch", "delete")
#: Rules list their verbs in this order, others behind.
_ORDER: Final = {verb: place for place, verb in enumerate((*_OWN[:3], "create", "update", "patch", "delete"))}
_RBAC: Final = "rbac.authorization.k8s.io"
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


@dataclass(frozen=True, slots=True)
class Grant:
    """Some verbs on one resource."""

    group: str
    #: The plural, with ``/subresource`` where one is meant.
    resource: str
    verbs: tuple[str, ...]
    namespaced: bool = True


_EVENTS: Final = Grant("events.k8s.io", "events", ("create", "patch"))
#: The namespace of events about objects that have none.
EVENTS_OF_CLUSTER: Final = "default"


def _tells_of_cluster(operator: Operator) -> bool:
    """Tell whether an operator's events may be about objects without a namespace."""
    return any(not reconciler.resource.namespaced for reconciler in operator.reconcilers)


def _on(resource: ApiResource, *verbs: str, part: str = "") -> Grant:
    name = f"{resource.plural}/{part}" if part else resource.plural
    return Grant(resource.gvk.group, name, verbs, resource.namespaced)


def _of_reconciler(reconciler: Reconciler[Any]) -> Iterator[Grant]:
    own = reconciler.resource
    yield _on(own, *_READ)
    if "status" in own.subresources:
        yield _on(own, "patch", part="status")
    else:
        yield _on(own, "patch")
    if reconciler.cleanup_function is not None:
        yield _on(own, "patch")
    if reconciler.options.owns:
        # Where the server enforces it, whoever sets a blocking owner reference must be able to change its finalizers.
        yield _on(own, "update", part="finalizers")
    for kind in reconciler.options.owns:
        yield _on(resource_of(kind), *_OWN)
    for watch in reconciler.options.watches:
        yield _on(resource_of(watch.kind), *_READ)
    if reconciler.options.optional or any(watch.optional for watch in reconciler.options.watches):
        yield Grant(*_DEFINITIONS, ("list", "watch"), namespaced=False)


def grants_of(operator: Operator) -> list[Grant]:
    """Give what an operator must be allowed, each resource once, in a fixed order."""
    found = [grant for reconciler in operator.reconcilers for grant in _of_reconciler(reconciler)]
    found += [_on(resource_of(kind), *verbs) for kind, verbs in operator.permissions]
    if operator.reconcilers:
        found.append(_EVENTS)
    merged: dict[tuple[str, str], Grant] = {}
    for grant in found:
        key = (grant.group, grant.resource)
        verbs = {*grant.verbs, *(merged[key].verbs if key in merged else ())}
        ordered = tuple(sorted(verbs, key=lambda verb: (_ORDER.get(verb, len(_ORDER)), verb)))
        merged[key] = Grant(grant.group, grant.resource, ordered, grant.namespaced)
    return [merged[key] for key in sorted(merged)]


def rules_of(grants: Iterable[Grant]) -> list[dict[str, Any]]:
    """Write grants as rules; resources of one group with the same verbs share one."""
    shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for grant in grants:
        shared.setdefault((grant.group, grant.verbs), []).append(grant.resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in shared.items()
    ]


def lease_rules(name: str) -> list[dict[str, Any]]:
    """Give what the election needs: its own lease, which it also watches, and to create it."""
    group, resources = ["coordination.k8s.io"], ["leases"]
    return [
        {"apiGroups": group, "resources": resources, "verbs": ["create"]},
        {"apiGroups": group, "resources": resources, "resourceNames": [name], "verbs": [*_READ, "patch"]},
    ]


def cluster_grants(operator: Operator, shape: Shape) -> list[Grant]:
    """Give what must be allowed in the whole cluster: everything, or what lies in no namespace."""
    return [grant for grant in grants_of(operator) if not shape.watch or not grant.namespaced]


def namespace_grants(operator: Operator, shape: Shape) -> list[Grant]:
    """Give what must be allowed in each namespace that is looked at."""
    return [grant for grant in grants_of(operator) if shape.watch and grant.namespaced]


def permission_objects(operator: Operator, shape: Shape) -> list[dict[str, Any]]:
    """Make the account of an operator and everything that it may do."""
    name = name_of(operator)
    made: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(name, of=name, namespace=shape.namespace),
            "automountServiceAccountToken": False,
        }
    ]
    if rules := rules_of(cluster_grants(operator, shape)):
        made += _role(name, rules, shape)
    if rules := rules_of(namespace_grants(operator, shape)):
        for namespace in shape.watch:
            made += _role(name, rules, shape, namespace=namespace)
    if shape.watch and EVENTS_OF_CLUSTER not in shape.watch and _tells_of_cluster(operator):
        made += _role(name, rules_of([_EVENTS]), shape, namespace=EVENTS_OF_CLUSTER)
    made += _role(f"{name}-leader-election", lease_rules(name), shape, of=name, namespace=shape.namespace)
    return made


def _role(
    name: str, rules: list[dict[str, Any]], shape: Shape, *, of: str = "", namespace: str = ""
) -> list[dict[str, Any]]:
    """Make a role and bind it to the operator's account: in one namespace, or without one in the whole cluster."""
    account = of or name
    kind = "Role" if namespace else "ClusterRole"
    meta = metadata(name, of=account, namespace=namespace)
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": shape.namespace}],
        },
    ]


def user_role_objects(operator: Operator) -> list[dict[str, Any]]:
    """Make roles for people: to see the operator's custom kinds, and to edit them; the built-in roles gather them."""
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
        ("viewer", ("view", "edit", "admin"), _READ),
        ("editor", ("edit", "admin"), (*_READ, "create", "update", "patch", "delete", "deletecollection")),
    )
    made = []
    for role, gathered, verbs in roles:
        meta = metadata(f"{name}-{role}", of=name)
        meta["labels"] |= {f"{_RBAC}/aggregate-to-{into}": "true" for into in gathered}
        rules: list[dict[str, Any]] = []
        for group, plurals in resources.items():
            rules.append({"apiGroups": [group], "resources": plurals, "verbs": list(verbs)})
            parts = [f"{plural}/status" for plural in plurals]
            rules.append({"apiGroups": [group], "resources": parts, "verbs": ["get"]})
        made.append({"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
    return made
