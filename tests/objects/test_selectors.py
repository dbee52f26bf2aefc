import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import SelectorError
from steersman.objects.selectors import (
    FieldRequirement,
    FieldSelector,
    LabelSelector,
    LabelSelectorRequirement,
    Requirement,
    is_label_key,
    is_label_value,
)


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=1", {}, False),
        ("a==1", {"a": "1"}, True),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a==", {"a": ""}, True),
        # A label that an object does not have does not have that value either.
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a notin (1,2)", {}, True),
        ("a notin (1,2)", {"a": "2"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1,2)", {}, False),
        ("a in (,)", {"a": ""}, True),
        ("a in (1,)", {"a": ""}, True),
        ("a in (,)", {}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a>5", {"a": "6"}, True),
        ("a>5", {"a": "5"}, False),
        ("a<5", {"a": "4"}, True),
        ("a<5", {}, False),
        ("a>5", {"a": "x"}, False),
        ("a<5", {"a": "x"}, False),
        ("a>5", {"a": "99999999999999999999"}, False),
        ("a=1,b=2", {"a": "1", "b": "2"}, True),
        ("a=1,b=2", {"a": "1"}, False),
        (" a = 1 , b in ( x , y ) , ! c ", {"a": "1", "b": "y"}, True),
        ("example.com/a=1", {"example.com/a": "1"}, True),
        ("a in (in,notin)", {"a": "in"}, True),
        ("a=in", {"a": "in"}, True),
        ("!in", {}, True),
        # Kubernetes reads these words as keys where a key is expected, and () as the empty value.
        ("in", {"in": ""}, True),
        ("in in (a)", {"in": "a"}, True),
        ("a in ()", {"a": ""}, True),
        ("a notin ()", {}, True),
    ],
)
def test_selector_selects_as_kubernetes_does(text: str, labels: dict[str, str], selected: bool) -> None:
    """An object is selected here if and only if the server selects it."""
    assert LabelSelector.parse(text).matches(labels) is selected


@pytest.mark.parametrize(
    "text",
    ["a b", ",a", "a,", "a,,b", "=1", "a=1=2", "a in", "a in 1", "a in (1", "a in (1 2)", "a in (=)", "a=(",
     "(a)", "!", "!a=1", "a>x", "a>", "a<1.5", "a>99999999999999999999", "a>-5", "a=b c", "a=-x", "a=x-", "a=_",
     "-a", "a/b/c=1", "A/=1", "/a", "a" * 64, "a=" + "x" * 64, "a=\u00e9", "a!"],
)  # fmt: skip
def test_invalid_selector_is_rejected_and_quoted(text: str) -> None:
    """An invalid selector must never select everything."""
    with pytest.raises(SelectorError):
        LabelSelector.parse(text)


def test_error_quotes_the_selector_and_the_position() -> None:
    """The user finds the mistake."""
    with pytest.raises(SelectorError, match=r"'a in \(1' is not a label selector: .*expected: ',' or '\)'"):
        LabelSelector.parse("a in (1")


def test_structured_selector_means_the_same() -> None:
    """Specs contain matchLabels and matchExpressions."""
    selector = LabelSelector.from_expressions(
        {"app": "web"},
        [
            LabelSelectorRequirement(key="tier", operator="In", values=["b", "a"]),
            LabelSelectorRequirement(key="canary", operator="DoesNotExist"),
            LabelSelectorRequirement(key="zone", operator="Exists"),
            LabelSelectorRequirement(key="os", operator="NotIn", values=["x"]),
        ],
    )
    assert str(selector) == "app=web,tier in (a,b),!canary,zone,os notin (x)"
    assert selector == LabelSelector.parse("app=web,tier in (b,a),!canary,zone,os notin (x)")
    assert str(LabelSelector.from_expressions(None, None)) == ""


@pytest.mark.parametrize(
    "expression",
    [
        LabelSelectorRequirement(key="a", operator="Like", values=["x"]),
        LabelSelectorRequirement(key="a", operator="In"),
        LabelSelectorRequirement(key="a", operator="Exists", values=["x"]),
        LabelSelectorRequirement(key="!", operator="Exists"),
    ],
)
def test_structured_selector_that_no_server_accepts_is_rejected(expression: LabelSelectorRequirement) -> None:
    """The same rules hold for both forms."""
    with pytest.raises(SelectorError):
        LabelSelector.from_expressions(None, [expression])


def test_selector_of_labels_requires_all_of_them() -> None:
    """Owners find their pods with ``of``; no labels select everything."""
    selector = LabelSelector.of({"b": "2", "a": "1"})
    assert str(selector) == "a=1,b=2"
    assert selector.matches({"a": "1", "b": "2", "c": "3"})
    assert not selector.matches({"a": "1"})
    assert not LabelSelector()
    assert LabelSelector().matches(None)


@pytest.mark.parametrize(("key", "valid"), [
    ("a", True), ("a.b_c-d", True), ("example.com/a", True), ("a" * 63, True), ("x" * 253 + "/a", True),
    ("", False), ("/a", False), ("a/", False), ("A.com/a", False), ("a" * 64, False), ("x" * 254 + "/a", False),
    ("a\n", False), ("\u00e9", False),
])  # fmt: skip
def test_label_keys_follow_the_rules_of_kubernetes(key: str, valid: bool) -> None:
    """An optional DNS prefix, and a name of at most 63 characters."""
    assert is_label_key(key) is valid


def test_label_values_may_be_empty_and_have_63_characters() -> None:
    """Values follow the rules of names."""
    assert is_label_value("")
    assert is_label_value("a" * 63)
    assert not is_label_value("a" * 64)
    assert not is_label_value("a b")


keys = st.from_regex(r"([a-z]{1,3}\.[a-z]{1,3}/)?[A-Za-z]([-._A-Za-z0-9]{0,3}[A-Za-z0-9])?", fullmatch=True).filter(
    lambda key: key not in ("in", "notin")
)
values = st.from_regex(r"([A-Za-z0-9]([-._A-Za-z0-9]{0,3}[A-Za-z0-9])?)?", fullmatch=True)
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(lambda key, op, value: Requirement(key, op, (value,)), keys, st.sampled_from(["=", "!="]), values),
    st.builds(
        lambda key, op, number: Requirement(key, op, (str(number),)),
        keys,
        st.sampled_from(["gt", "lt"]),
        st.integers(0, 10**9),
    ),
    st.builds(
        lambda key, op, several: Requirement(key, op, tuple(sorted(several))),
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(values, min_size=1, max_size=3),
    ),
)
label_sets = st.dictionaries(keys, values, max_size=4)


@settings(max_examples=150)
@given(st.lists(requirements, max_size=4), label_sets)
def test_formatted_selector_is_parsed_as_the_same_selector(wanted: list[Requirement], labels: dict[str, str]) -> None:
    """A selector is sent as text; the other side must select the same objects."""
    selector = LabelSelector(tuple(wanted))
    again = LabelSelector.parse(str(selector))
    assert again == selector
    assert again.matches(labels) == selector.matches(labels)


@settings(max_examples=100)
@given(keys, st.sets(values, min_size=1, max_size=3), label_sets)
def test_each_operator_is_the_complement_of_its_opposite(key: str, several: set[str], labels: dict[str, str]) -> None:
    """In and notin, = and !=, exists and ! divide all objects into two sets."""
    one = tuple(sorted(several))[:1]
    for positive, negative, wanted in [("in", "notin", tuple(several)), ("=", "!=", one), ("exists", "!", ())]:
        assert Requirement(key, positive, wanted).matches(labels) is not Requirement(key, negative, wanted).matches(
            labels
        )


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        ("metadata.name=a", (FieldRequirement("metadata.name", True, "a"),)),  # noqa: FBT003 - equal, or not
        ("a==b", (FieldRequirement("a", True, "b"),)),  # noqa: FBT003 - same
        ("a!=b,c=", (FieldRequirement("a", False, "b"), FieldRequirement("c", True, ""))),  # noqa: FBT003 - same
        (r"a=b\,c\=d\\", (FieldRequirement("a", True, "b,c=d\\"),)),  # noqa: FBT003 - same
        ("a=b,", (FieldRequirement("a", True, "b"),)),  # noqa: FBT003 - same
        ("a!b=c", (FieldRequirement("a!b", True, "c"),)),  # noqa: FBT003 - same
    ],
)
def test_field_selector_is_parsed_with_its_escapes(text: str, requirements: tuple[FieldRequirement, ...]) -> None:
    """Values may contain any character."""
    assert FieldSelector.parse(text).requirements == requirements


@pytest.mark.parametrize("text", ["a", "=b", r"a=b\c", "a=b\\", "a=b=c", "a>1"])
def test_invalid_field_selector_is_rejected(text: str) -> None:
    """The only operators are = and !=."""
    with pytest.raises(SelectorError, match="invalid field selector"):
        FieldSelector.parse(text)


def test_field_selector_compares_texts() -> None:
    """The caller knows the fields; an absent one is empty, as on the server."""
    fields = {"metadata.name": "a", "status.phase": "Running"}
    selector = FieldSelector.parse("metadata.name=a,status.phase!=Failed,spec.nodeName=")
    assert selector.matches(lambda name: fields.get(name, ""))
    assert not FieldSelector.parse("metadata.name!=a").matches(lambda name: fields.get(name, ""))
    assert not FieldSelector()


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.from_regex(r"[a-z.]{1,5}", fullmatch=True), st.booleans(), st.text(max_size=6)), max_size=3)
)
def test_formatted_field_selector_is_parsed_as_the_same(wanted: list[tuple[str, bool, str]]) -> None:
    """Commas, equal signs and backslashes in values survive."""
    selector = FieldSelector(tuple(FieldRequirement(*one) for one in wanted))
    assert FieldSelector.parse(str(selector)) == selector
