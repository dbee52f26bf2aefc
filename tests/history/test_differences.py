"""Which fields of two documents differ, by the names that users know."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from steersman.history.differences import LIMIT, field_changes, object_changes, value_text


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


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ({"password": "kanarie"}, {"password": "b"}, "password"),
        ({"passwords": ["kanarie"]}, {"passwords": ["b"]}, "passwords"),
        ({"passwords": ["kanarie"]}, {"passwords": ["b", "c"]}, "passwords"),
        ({"apiKeys": {"a": "kanarie"}}, {"apiKeys": {"a": "b"}}, "apiKeys"),
        (
            {"env": [{"name": "DB_PASSWORD", "value": "kanarie"}]},
            {"env": [{"name": "DB_PASSWORD", "value": "b"}]},
            None,
        ),
        ({"env": [{"name": "DB_PASSWORD", "value": "kanarie"}]}, {"env": []}, None),
        ({"env": [{"name": "DB_PASSWORD", "value": "kanarie"}, 1]}, {"env": [2]}, None),
        ({"env": []}, {"env": [{"name": "APP_SECRET", "value": "kanarie"}]}, None),
        ({"login": {"user": "a", "passwd": "kanarie"}}, {"login": None}, "login"),
        ({"logins": [{"clientSecret": "kanarie"}]}, {"logins": None}, "logins"),
        ({"url": "postgres://a:kanarie@db/x"}, {"url": "postgres://a:b@db/x"}, "url"),
        ({"data": {"db.password": "kanarie"}}, {"data": {"db.password": "b"}}, "data[db.password]"),
    ],
)
def test_a_value_that_is_named_like_a_password_is_not_shown(
    before: dict[str, Any], after: dict[str, Any], path: str | None
) -> None:
    """A password may be in a list, in a variable of a container, or inside a value that was removed as a whole."""
    changes, _ = field_changes(before, after)
    assert changes
    assert path is None or changes[0].path == path
    assert "kanarie" not in repr(changes)
    assert "kanarie" not in repr(field_changes(after, before))


def test_a_switch_is_shown_whatever_its_name() -> None:
    """``automountServiceAccountToken`` has no secret, and its change matters."""
    [change], _ = field_changes({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False})
    assert str(change) == "automountServiceAccountToken true → false"


def test_a_path_is_cut() -> None:
    """The key of an annotation may have 300 characters, and paths are nested."""
    [change], _ = field_changes({"a": {"k" * 500: 1}}, {"a": {"k" * 500: 2}})
    assert len(change.path) == 120


@pytest.mark.parametrize("depth", [100, 500, 900])
def test_a_document_may_be_deeper_than_the_stack_of_the_interpreter(depth: int) -> None:
    """A custom resource may preserve unknown fields of any depth, and a run must not fail because of it."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {"b": 1}
    for _ in range(depth):
        before, after = {"a": before}, {"a": after}
    [change], _ = field_changes(before, after)
    assert change.path.startswith("a.a.a")


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


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}}, {"metadata": {"name": "a"}}, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}, "metadata": {"generation": 2}}, ["spec.a 1 → 2"]),
        ({"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"a": "2"}}}, ["metadata.labels.a 1 → 2"]),
        ({"data": {"a": "1"}, "kind": "X"}, {"kind": "X"}, ['data {"a":"1"} → removed']),
        ({"metadata": {}}, {"metadata": {}, "spec": {"a": {"b": 1}}}, ["spec.a.b 1"]),
    ],
)
def test_two_states_of_an_object_differ_in_what_clients_wrote(
    before: dict[str, Any], after: dict[str, Any], expected: list[str]
) -> None:
    """Versions and managed fields change with every write: they would come first in every difference."""
    changes, _ = object_changes(encode(before), encode(after))
    assert [str(one) for one in changes if one.path != "metadata.generation"] == expected


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
    assert object_changes(encode(before), encode(after)) == field_changes(before, after)
    assert field_changes(before, before) == ((), 0)
    assert object_changes(encode(before), encode(before)) == ((), 0)
