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
def test_a_rule_that_covers_another_allows_all_that_it_allows(
    rule: Rule, other: Rule, request: tuple[str, str, tuple[str, str], str]
) -> None:
    """Otherwise somebody could grant more than they have."""
    verb, group, (target, part), name = request
    if rule.covers(other) and other.allows(verb, group, target, part, name):
        assert rule.allows(verb, group, target, part, name)


@given(st.lists(_RULES, max_size=3), _RULES)
def test_nobody_lacks_what_they_hold(held: list[Rule], rule: Rule) -> None:
    """Who has a rule may always grant it."""
    assert missing_rights([*held, rule], [rule]) == []


def test_a_name_that_was_not_given_is_not_allowed_by_rules_on_names() -> None:
    """A create names nothing yet: a rule on names must not allow it."""
    rule = Rule(("create",), ("",), ("pods",), ("x",))
    assert not rule.allows("create", "", "pods", "", "")


def test_a_star_in_a_path_stands_only_at_its_end() -> None:
    """A prefix must not open what lies beside it."""
    rule = Rule(("get",), paths=("/foo/*",))
    assert rule.allows_path("get", "/foo/bar")
    assert not rule.allows_path("get", "/foo")
    assert not rule.allows_path("get", "/foobar")


def test_missing_rights_are_joined_and_sorted() -> None:
    """The refusal lists them as kubectl users know it."""
    wanted = Rule(("get", "delete"), ("",), ("secrets", "pods"))
    held = [Rule(("get",), ("",), ("pods",))]
    assert missing_rights(held, [wanted]) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ]
