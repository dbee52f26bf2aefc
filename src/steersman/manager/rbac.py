"""The least privileged RBAC rules of an operator, from its declarations: what it reconciles, owns, watches and permits.

There are no wildcards, and nothing that the framework does not use: it writes by patches, so there is no ``update`` of
objects. These rules are written into manifests, enforced in tests, and checked by ``steer doctor``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from steersman.controller.declaration import Reconciler
from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.manager.permission import Permission, line
from steersman.objects.identity import ApiResource
from steersman.objects.resource import resource_of
from steersman.webhook.operator_webhooks import need_webhooks
from steersman.webhook.registration.rbac import bundle_rules, certificate_rules

READ: Final = ("get", "list", "watch")
_OWN: Final = (*READ, "create", "patch", "delete")
#: Order of verbs in rules; other verbs follow.
_ORDER: Final = {verb: place for place, verb in enumerate((*_OWN[:3], "create", "update", "patch", "delete"))}
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


@dataclass(frozen=True, slots=True)
class Grant:
    """Verbs on one resource."""

    group: str
    #: The plural, with ``/subresource`` if the grant is about one.
    resource: str
    verbs: tuple[str, ...]
    namespaced: bool = True


EVENTS: Final = Grant("events.k8s.io", "events", ("create", "patch"))
#: The namespace of events about cluster-scoped objects.
EVENTS_OF_CLUSTER: Final = "default"


def _has_cluster_events(operator: Operator) -> bool:
    """Return whether an operator may record events about cluster-scoped objects."""
    return any(not reconciler.resource.namespaced for reconciler in operator.reconcilers)


def _on(resource: ApiResource, *verbs: str, part: str = "") -> Grant:
    name = f"{resource.plural}/{part}" if part else resource.plural
    return Grant(resource.gvk.group, name, verbs, resource.namespaced)


def _of_reconciler(reconciler: Reconciler[Any]) -> Iterator[Grant]:
    own = reconciler.resource
    yield _on(own, *READ)
    if "status" in own.subresources:
        yield _on(own, "patch", part="status")
    elif "status" in reconciler.kind.__struct_fields__:
        yield _on(own, "patch")
    if reconciler.cleanup_function is not None:
        yield _on(own, "patch")
    if reconciler.options.owns:
        # With OwnerReferencesPermissionEnforcement, a client that sets a blocking owner reference needs this.
        yield _on(own, "update", part="finalizers")
    for kind in reconciler.options.owns:
        yield _on(resource_of(kind), *_OWN)
    for kind in (*reconciler.options.waits_for, *(watch.kind for watch in reconciler.options.watches)):
        yield _on(resource_of(kind), *READ)
    if reconciler.options.optional or any(watch.optional for watch in reconciler.options.watches):
        yield Grant(*_DEFINITIONS, ("list", "watch"), namespaced=False)


def grants_of(operator: Operator) -> list[Grant]:
    """Return the grants of an operator, each resource once, in a fixed order."""
    found = [grant for reconciler in operator.reconcilers for grant in _of_reconciler(reconciler)]
    found += [_grant(permission) for permission in operator.permissions]
    if operator.reconcilers:
        found.append(EVENTS)
    merged: dict[tuple[str, str], Grant] = {}
    for grant in found:
        key = (grant.group, grant.resource)
        verbs = {*grant.verbs, *(merged[key].verbs if key in merged else ())}
        ordered = tuple(sorted(verbs, key=lambda verb: (_ORDER.get(verb, len(_ORDER)), verb)))
        merged[key] = Grant(grant.group, grant.resource, ordered, grant.namespaced)
    for permission in operator.declined:
        _decline(merged, permission, operator)
    return [merged[key] for key in sorted(merged) if merged[key].verbs]


def _grant(permission: Permission) -> Grant:
    return _on(resource_of(permission.kind), *permission.verbs, part=permission.subresource)


def _decline(merged: dict[tuple[str, str], Grant], permission: Permission, operator: Operator) -> None:
    declined = _grant(permission)
    code = line(permission.kind.__name__, permission.verbs, permission.subresource, call="decline")
    if not permission.subresource and not {"list", "watch"}.isdisjoint(permission.verbs):
        raise DeclarationError(f"operator {operator.name!r}: {code}: a watched kind must be listed and watched")
    grant = merged.get((declined.group, declined.resource))
    if grant is None or not set(declined.verbs) <= set(grant.verbs):
        raise DeclarationError(f"operator {operator.name!r}: {code} removes a permission that is not needed: delete it")
    verbs = tuple(verb for verb in grant.verbs if verb not in declined.verbs)
    merged[declined.group, declined.resource] = replace(grant, verbs=verbs)


def rules_of(grants: Iterable[Grant]) -> list[JsonObject]:
    """Return grants as RBAC rules; resources of one group with the same verbs share a rule."""
    shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for grant in grants:
        shared.setdefault((grant.group, grant.verbs), []).append(grant.resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in shared.items()
    ]


def lease_rules(name: str) -> list[JsonObject]:
    """Return the rules of leader election: create leases, and read, watch and patch its own."""
    group, resources = ["coordination.k8s.io"], ["leases"]
    return [
        {"apiGroups": group, "resources": resources, "verbs": ["create"]},
        {"apiGroups": group, "resources": resources, "resourceNames": [name], "verbs": [*READ, "patch"]},
    ]


@dataclass(frozen=True, slots=True)
class RoleRules:
    """The rules of one Role, or without a namespace of a ClusterRole."""

    name: str
    namespace: str
    rules: list[JsonObject]


def cluster_grants(operator: Operator, watch: Sequence[str] = ()) -> list[Grant]:
    """Return the grants of the ClusterRole: all of them, or with ``watch`` those on cluster-scoped kinds."""
    return [grant for grant in grants_of(operator) if not watch or not grant.namespaced]


def roles_of(operator: Operator, *, home: str, watch: Sequence[str] = (), webhook_secret: str = "") -> list[RoleRules]:
    """Return the roles of an operator that watches some namespaces, or all.

    ``home`` is the namespace of its lease and of the Secret with its webhook certificates, which it creates itself
    unless ``webhook_secret`` names one.
    """
    name = operator.name
    made = []
    if rules := rules_of(cluster_grants(operator, watch)):
        made.append(RoleRules(name, "", rules))
    if rules := rules_of(grant for grant in grants_of(operator) if watch and grant.namespaced):
        made += [RoleRules(name, namespace, rules) for namespace in watch]
    if watch and EVENTS_OF_CLUSTER not in watch and _has_cluster_events(operator):
        made.append(RoleRules(name, EVENTS_OF_CLUSTER, rules_of([EVENTS])))
    if need_webhooks([operator]):
        made.append(RoleRules(f"{name}-webhooks", "", bundle_rules(operator)))
        made.append(RoleRules(f"{name}-webhooks", home, certificate_rules(operator, webhook_secret)))
    return [*made, RoleRules(f"{name}-leader-election", home, lease_rules(name))]
