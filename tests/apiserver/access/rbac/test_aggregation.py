from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.access.rbac.aggregation import aggregated_rules


def _role(name: str, labels: list[str], rules: list[Any], wants: list[str]) -> dict[str, Any]:
    selectors = [{"matchLabels": {label: "yes"}} for label in wants]
    role: dict[str, Any] = {"metadata": {"name": name, "labels": dict.fromkeys(labels, "yes")}, "rules": rules}
    return {**role, "aggregationRule": {"clusterRoleSelectors": selectors}} if wants else role


def test_a_role_gets_the_rules_of_roles_that_got_theirs_from_others() -> None:
    """Of the built-in roles, admin aggregates edit, which aggregates view."""
    leaf = {"verbs": ["get"], "resources": ["pods"]}
    roles = {
        "admin": _role("admin", [], [], ["to-admin"]),
        "edit": _role("edit", ["to-admin"], [], ["to-edit"]),
        "leaf": _role("leaf", ["to-edit"], [leaf], []),
    }
    assert aggregated_rules(roles) == {"admin": [leaf], "edit": [leaf]}


def test_rules_that_nobody_contributes_any_more_go() -> None:
    """Who removes a contributing role takes its rights back."""
    roles = {"admin": _role("admin", [], [{"verbs": ["get"]}], ["to-admin"])}
    assert aggregated_rules(roles) == {"admin": []}


def test_a_rule_that_a_role_holds_twice_is_taken_once() -> None:
    """Otherwise roles that aggregate each other would hand their duplicates to and fro."""
    rule = {"verbs": ["get"]}
    roles = {"sum": _role("sum", [], [], ["part"]), "twice": _role("twice", ["part"], [rule, rule], [])}
    assert aggregated_rules(roles) == {"sum": [rule]}


_LABELS = st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True)
_RULES = st.lists(st.sampled_from([{"verbs": ["get"]}, {"verbs": ["list"]}]), max_size=2)


@given(st.lists(st.tuples(_LABELS, _RULES, _LABELS), max_size=5))
def test_aggregating_twice_changes_nothing_more(parts: list[tuple[list[str], list[Any], list[str]]]) -> None:
    """Also where roles aggregate each other: the server must come to rest after a write."""
    roles = {f"r{place}": _role(f"r{place}", *part) for place, part in enumerate(parts)}
    for name, rules in aggregated_rules(roles).items():
        roles[name]["rules"] = rules
    assert aggregated_rules(roles) == {}
