"""Aggregated roles: cluster roles whose rules are those of all roles that their selectors find."""

from steersman.apiserver.access.rbac.bindings import CLUSTER_ROLES, GROUP
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.label_selectors import selector_of
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import Ownership
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.times import format_time

MANAGER = "clusterrole-aggregation-controller"


class Aggregation:
    """Keeps aggregated roles as their selectors say. In a real cluster a controller does it."""

    def __init__(self, objects: ObjectStore, catalog: Catalog, ownership: Ownership, clock: Clock) -> None:
        self._objects = objects
        self._catalog = catalog
        self._ownership = ownership
        self._clock = clock
        self._is_busy = False

    def follow(self) -> None:
        """Aggregate after every change of a cluster role from now on; the first roles are aggregated already."""
        self._objects.listen([CLUSTER_ROLES], self._changed)

    def _changed(self, _resource: str) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        try:
            self._aggregate()
        finally:
            self._is_busy = False

    def _aggregate(self) -> None:
        served = self._catalog.find(GROUP, "v1", "clusterroles")
        assert served is not None, "built in"  # noqa: S101 - the table of resources has it
        records = self._objects.records_of(CLUSTER_ROLES)
        roles = {record.name: self._objects.document(served, record) for record in records}
        time = format_time(self._clock.now())
        for name, rules in aggregated_rules(roles).items():
            live = roles[name]
            config = {
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "metadata": {"name": name},
                **({"rules": rules} if rules else {}),
            }
            obj = self._ownership.applied(served, live, config, MANAGER, time, force=True)
            # Empty rules are written as null.
            self._objects.put(served, {**obj, "rules": obj.get("rules")})


def aggregated_rules(roles: dict[str, JsonObject]) -> dict[str, list[JsonObject]]:
    """Return the rules of all aggregated roles whose current rules differ."""
    aggregated = [name for name, role in roles.items() if role.get("aggregationRule")]
    rules = {name: role.get("rules") or [] for name, role in roles.items()}
    changed: dict[str, list[JsonObject]] = {}
    # Aggregated roles may select each other, so this takes at most as many rounds as there are such roles. One after
    # the other, so that roles that select each other keep what they have instead of swapping it forever.
    for _ in range(len(aggregated) + 1):
        is_settled = True
        for name in aggregated:
            found = _collected(roles, rules, name)
            if not _are_alike(found, rules[name]):
                rules[name] = changed[name] = found
                is_settled = False
        if is_settled:
            break
    return changed


def _are_alike(some: list[JsonObject], others: list[JsonObject]) -> bool:
    """Return whether two lists have the same rules in any order: roles that select each other would reorder forever."""
    return len(some) == len(others) and all(rule in others for rule in some)


def _collected(roles: dict[str, JsonObject], rules: dict[str, list[JsonObject]], name: str) -> list[JsonObject]:
    selectors = [selector_of(item) for item in roles[name]["aggregationRule"].get("clusterRoleSelectors") or ()]
    found: list[JsonObject] = []
    for other in sorted(roles):
        labels = roles[other]["metadata"].get("labels")
        if other != name and any(selector.matches(labels) for selector in selectors):
            for rule in rules[other]:
                # One by one: a role may hold the same rule twice.
                if rule not in found:
                    found.append(rule)
    return found
