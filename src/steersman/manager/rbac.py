"""The least privileged RBAC rules of an operator, from its declarations: what it reconciles, owns, watches and permits.

There are no wildcards, and nothing that the framework does not use: it writes by patches, so there is no ``update`` of
objects. These rules are written into manifests, enforced in tests, and checked by ``steer doctor``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from steersman.controller.declaration import Reconciler, ReconcilerOptions
from steersman.controller.scope import Scope
from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.manager.leader.shard_election import slot_names, table_name
from steersman.manager.operator import Operator
from steersman.manager.permission import Permission, line
from steersman.objects.identity import ApiResource
from steersman.objects.resource import resource_of
from steersman.objects.selectors import FieldSelector
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
    #: The namespaces that the author has limited the watch to; none of them means those of the operator.
    namespaces: tuple[str, ...] = ()
    #: The only objects that the author watches, by their names; none of them means all.
    names: tuple[str, ...] = ()

    def is_about(self, other: "Grant") -> bool:
        """Return whether two grants are about the same resource."""
        return (self.group, self.resource) == (other.group, other.resource)


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
    if reconciler.options.owned:
        # With OwnerReferencesPermissionEnforcement, a client that sets a blocking owner reference needs this.
        yield _on(own, "update", part="finalizers")
    yield from _of_others(reconciler.options)
    if reconciler.options.optional or any(watch.optional for watch in reconciler.options.watches):
        yield Grant(*_DEFINITIONS, ("list", "watch"), namespaced=False)


def _of_others(options: ReconcilerOptions) -> Iterator[Grant]:
    """Yield the grants on the kinds besides the reconciled one, limited as their watches are."""
    for owned in options.owned:
        yield replace(_on(resource_of(owned.kind), *_OWN), namespaces=tuple(owned.namespaces))
    for kind in options.waits_for:
        yield _on(resource_of(kind), *READ)
    for watch in options.watches:
        yield replace(_on(resource_of(watch.kind), *READ), namespaces=tuple(watch.namespaces), names=_names(watch))


def _names(scope: Scope) -> tuple[str, ...]:
    """Return the name of the only object that a field selector selects.

    RBAC allows to list and watch by name if, and only if, the request selects that name.
    """
    fields = FieldSelector.parse(scope.field_selector).requirements
    return tuple(one.value for one in fields if one.field == "metadata.name" and one.equal)


def grants_of(operator: Operator) -> list[Grant]:
    """Return the grants of an operator in a fixed order, each resource once for each of its scopes."""
    found = [grant for reconciler in operator.reconcilers for grant in _of_reconciler(reconciler)]
    found += [_grant(permission) for permission in operator.permissions]
    if operator.reconcilers:
        found.append(EVENTS)
    merged: dict[Grant, set[str]] = {}
    for grant in found:
        merged.setdefault(replace(grant, verbs=()), set()).update(grant.verbs)
    for permission in operator.declined:
        _decline(merged, permission, operator)
    return [
        replace(grant, verbs=tuple(sorted(left, key=_verb_order)))
        for grant, verbs in sorted(merged.items(), key=lambda item: _grant_order(item[0]))
        # A grant on all objects of the same namespaces includes that on some of them.
        if (left := verbs - (merged.get(replace(grant, names=()), set()) if grant.names else set()))
    ]


def _verb_order(verb: str) -> tuple[int, str]:
    return _ORDER.get(verb, len(_ORDER)), verb


def _grant_order(grant: Grant) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return grant.group, grant.resource, grant.namespaces, grant.names


def _grant(permission: Permission) -> Grant:
    return _on(resource_of(permission.kind), *permission.verbs, part=permission.subresource)


def _decline(merged: dict[Grant, set[str]], permission: Permission, operator: Operator) -> None:
    declined = _grant(permission)
    code = line(permission.kind.__name__, permission.verbs, permission.subresource, call="decline")
    if not permission.subresource and not {"list", "watch"}.isdisjoint(permission.verbs):
        raise DeclarationError(f"operator {operator.name!r}: {code}: a watched kind must be listed and watched")
    granted = [verbs for grant, verbs in merged.items() if declined.is_about(grant)]
    if not set(declined.verbs) <= set().union(*granted):
        raise DeclarationError(f"operator {operator.name!r}: {code} removes a permission that is not needed: delete it")
    for verbs in granted:
        verbs.difference_update(declined.verbs)


def rules_of(grants: Iterable[Grant]) -> list[JsonObject]:
    """Return grants as RBAC rules; resources of one group with the same verbs and names share a rule."""
    shared: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for grant in grants:
        shared.setdefault((grant.group, grant.names, grant.verbs), []).append(grant.resource)
    return [
        {"apiGroups": [group], "resources": resources, **_resource_names(names), "verbs": list(verbs)}
        for (group, names, verbs), resources in shared.items()
    ]


def _resource_names(names: tuple[str, ...]) -> JsonObject:
    return {"resourceNames": list(names)} if names else {}


def lease_rules(name: str, *, shards: int = 0) -> list[JsonObject]:
    """Return the rules of leader election: create leases, and read, watch and patch its own.

    With shards there are several leases, which are watched together: RBAC cannot limit that to names.
    """
    group, resources = ["coordination.k8s.io"], ["leases"]
    if shards:
        names = [table_name(name), *slot_names(name, shards)]
        return [
            {"apiGroups": group, "resources": resources, "verbs": ["list", "watch", "create"]},
            {"apiGroups": group, "resources": resources, "resourceNames": names, "verbs": ["get", "patch"]},
        ]
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
    """Return the grants of the ClusterRole: those that the author does not limit to namespaces.

    With ``watch`` they are those on cluster-scoped kinds.
    """
    return [grant for grant in grants_of(operator) if not grant.namespaces and not (watch and grant.namespaced)]


def namespace_grants(operator: Operator, watch: Sequence[str] = ()) -> dict[str, list[Grant]]:
    """Return the grants of the Role in each namespace."""
    found: dict[str, list[Grant]] = {namespace: [] for namespace in watch}
    for grant in grants_of(operator):
        for namespace in grant.namespaces or (watch if grant.namespaced else ()):
            found.setdefault(namespace, []).append(grant)
    if watch and EVENTS_OF_CLUSTER not in watch and _has_cluster_events(operator):
        found.setdefault(EVENTS_OF_CLUSTER, []).append(EVENTS)
    return {namespace: grants for namespace, grants in found.items() if grants}


def roles_of(operator: Operator, *, home: str, watch: Sequence[str] = (), webhook_secret: str = "") -> list[RoleRules]:
    """Return the roles of an operator that watches some namespaces, or all.

    ``home`` is the namespace of its lease and of the Secret with its webhook certificates, which it creates itself
    unless ``webhook_secret`` names one.
    """
    name = operator.name
    made = []
    if rules := rules_of(cluster_grants(operator, watch)):
        made.append(RoleRules(name, "", rules))
    for namespace, grants in namespace_grants(operator, watch).items():
        made.append(RoleRules(name, namespace, rules_of(grants)))
    if need_webhooks([operator]):
        made.append(RoleRules(f"{name}-webhooks", "", bundle_rules(operator)))
        made.append(RoleRules(f"{name}-webhooks", home, certificate_rules(operator, webhook_secret)))
    return [*made, RoleRules(f"{name}-leader-election", home, lease_rules(name, shards=operator.shards))]
