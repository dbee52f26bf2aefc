"""Which fields of two documents differ, by the names that users know."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.history.differences import LIMIT, field_changes, value_text, without_bookkeeping


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 3}}, ["spec.replicas 2 → 3"]),
        ({}, {"spec": {"on": True, "text": "a"}}, ["spec.on true", "spec.text a"]),
        ({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1}}, ["spec.b 2 → removed"]),
        (
            {"containers": [{"name": "main", "image": "app:1"}, {"name": "side"}]},
            {"containers": [{"name": "side"}, {"name": "main", "image": "app:2"}]},
            ["containers[main].image app:1 → app:2"],
        ),
        (
            {"labels": {"example.com/name": "a"}},
            {"labels": {"example.com/name": "b"}},
            ["labels[example.com/name] a → b"],
        ),
        ({"args": ["a", "b"]}, {"args": ["a", "c"]}, ["args[1] b → c"]),
        ({"args": ["a"]}, {"args": ["a", "b"]}, ['args ["a"] → ["a","b"]']),
        ({"text": "a"}, {"text": ""}, ['text a → ""']),
        ({"list": [{"name": "a"}, {"name": "a"}]}, {"list": [{"name": "a"}, {"name": "b"}]}, ["list[1].name a → b"]),
        ({"same": {"deep": [1]}}, {"same": {"deep": [1]}}, []),
    ],
)
def test_a_changed_field_is_named_with_both_values(
    before: dict[str, Any], after: dict[str, Any], expected: list[str]
) -> None:
    """A user searches for the one field that keeps changing, by the path that they would write."""
    assert [str(one) for one in field_changes(before, after)[0]] == expected


def test_only_some_fields_are_named_and_the_others_counted() -> None:
    """A record has a size limit; a new ConfigMap with a thousand keys has not."""
    changes, more = field_changes({}, {f"key-{number}": number for number in range(50)})
    assert (len(changes), more) == (LIMIT, 50 - LIMIT)


def test_a_value_is_one_short_line() -> None:
    """A certificate would fill the screen."""
    assert value_text("a\n  b") == "a b"
    assert len(value_text("x" * 1000)) == 60
    assert value_text(None) == ""
    assert value_text(0) == "0"


def test_fields_that_change_with_every_write_are_left_out() -> None:
    """They would come first in every difference and explain nothing."""
    document = {"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}, "spec": {}}
    assert without_bookkeeping(document) == {"metadata": {"name": "a"}, "spec": {}}
    assert without_bookkeeping({"spec": 1}) == {"spec": 1}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), _VALUES), st.dictionaries(st.sampled_from("abc"), _VALUES))
def test_any_two_documents_can_be_compared(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The answers of a server are not validated: nothing may raise, and equal documents have no difference."""
    field_changes(before, after)
    assert field_changes(before, before) == ((), 0)
