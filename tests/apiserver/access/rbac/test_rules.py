from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.access.rbac.rules import Rule, missing_rights

_WORDS = st.sampled_from(["a", "b", "*"])
_RESOURCES = st.sampled_from(["pods", "pods/log", "*/log", "jobs", "*"])
_TUPLES = st.lists(_WORDS, min_size=1, max_size=2).map(tuple)
_RULES = st.builds(
    Rule,
    verbs=_TUPLES,
    groups=_TUPLES,
    resources=st.lists(_RESOURCES, min_size=1, max_size=2).map(tuple),
    names=st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True).map(tuple),
)
_REQUESTS = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([("pods", ""), ("pods/log", "log"), ("jobs", ""), ("jobs/log", "log")]),
    st.sampled_from(["", "x", "y"]),
)


@given(_RULES, _RULES, _REQUESTS)
def test_a_rule_that_covers_another_allows_everything_it_allows(
    rule: Rule, other: Rule, request: tuple[str, str, tuple[str, str], str]
) -> None:
    """Otherwise a user could grant more than they have."""
    verb, group, (target, part), name = request
    if rule.covers(other) and other.allows(verb, group, target, part, name):
        assert rule.allows(verb, group, target, part, name)


@given(st.lists(_RULES, max_size=3), _RULES)
def test_a_user_may_grant_the_rules_they_hold(held: list[Rule], rule: Rule) -> None:
    """The check for privilege escalation must not report rules that the user has."""
    assert missing_rights([*held, rule], [rule]) == []


def test_a_rule_with_resource_names_does_not_allow_a_request_without_a_name() -> None:
    """A create has no name yet, so a rule on names must not allow it."""
    rule = Rule(("create",), ("",), ("pods",), ("x",))
    assert not rule.allows("create", "", "pods", "", "")


def test_a_star_in_a_path_matches_only_at_the_end() -> None:
    """A prefix must not allow paths beside it."""
    rule = Rule(("get",), paths=("/foo/*",))
    assert rule.allows_path("get", "/foo/bar")
    assert not rule.allows_path("get", "/foo")
    assert not rule.allows_path("get", "/foobar")


def test_missing_permissions_are_joined_and_sorted() -> None:
    """The error lists them in the form that kubectl users know."""
    wanted = Rule(("get", "delete"), ("",), ("secrets", "pods"))
    held = [Rule(("get",), ("",), ("pods",))]
    assert missing_rights(held, [wanted]) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ]
