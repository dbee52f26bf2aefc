from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.access.rbac.aggregation import aggregated_rules


def _role(name: str, labels: list[str], rules: list[Any], wants: list[str]) -> dict[str, Any]:
    selectors = [{"matchLabels": {label: "yes"}} for label in wants]
    role: dict[str, Any] = {"metadata": {"name": name, "labels": dict.fromkeys(labels, "yes")}, "rules": rules}
    return {**role, "aggregationRule": {"clusterRoleSelectors": selectors}} if wants else role


def test_a_role_aggregates_roles_that_are_aggregated_themselves() -> None:
    """Of the built-in roles, admin aggregates edit, which aggregates view."""
    leaf = {"verbs": ["get"], "resources": ["pods"]}
    roles = {
        "admin": _role("admin", [], [], ["to-admin"]),
        "edit": _role("edit", ["to-admin"], [], ["to-edit"]),
        "leaf": _role("leaf", ["to-edit"], [leaf], []),
    }
    assert aggregated_rules(roles) == {"admin": [leaf], "edit": [leaf]}


def test_rules_that_no_role_contributes_any_more_are_removed() -> None:
    """Removing a contributing role revokes its permissions."""
    roles = {"admin": _role("admin", [], [{"verbs": ["get"]}], ["to-admin"])}
    assert aggregated_rules(roles) == {"admin": []}


def test_a_rule_that_occurs_twice_is_aggregated_once() -> None:
    """Otherwise roles that aggregate each other would exchange their duplicates without end."""
    rule = {"verbs": ["get"]}
    roles = {"sum": _role("sum", [], [], ["part"]), "twice": _role("twice", ["part"], [rule, rule], [])}
    assert aggregated_rules(roles) == {"sum": [rule]}


_LABELS = st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True)
_RULES = st.lists(st.sampled_from([{"verbs": ["get"]}, {"verbs": ["list"]}]), max_size=2)


@given(st.lists(st.tuples(_LABELS, _RULES, _LABELS), max_size=5))
def test_aggregating_twice_changes_nothing(parts: list[tuple[list[str], list[Any], list[str]]]) -> None:
    """Also for roles that aggregate each other: a write must not cause writes without end."""
    roles = {f"r{place}": _role(f"r{place}", *part) for place, part in enumerate(parts)}
    for name, rules in aggregated_rules(roles).items():
        roles[name]["rules"] = rules
    assert aggregated_rules(roles) == {}
