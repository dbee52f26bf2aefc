"""Fields by their paths: get, set, remove."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.json_types import ABSENT
from steersman.schema.object_paths import object_path, put_at, take_at, value_at

PATHS = st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(lambda names: ("spec", *names))


@given(path=PATHS, value=st.one_of(st.none(), st.integers(), st.just({"x": 1})))
def test_a_field_that_was_set_is_found_and_removed_completely(path: tuple[str, ...], value: object) -> None:
    """A rename must leave nothing behind, or the reverse conversion would find it."""
    document: dict[str, object] = {"spec": {}}
    assert put_at(document, path, value)
    assert value_at(document, path) == value
    assert take_at(document, path) == value
    assert document == {"spec": {}}


def test_an_empty_top_level_part_stays() -> None:
    """An object without a spec differs from one with an empty spec."""
    document = {"spec": {"a": 1}}
    take_at(document, object_path(".spec.a"))
    assert document == {"spec": {}}


def test_siblings_stay() -> None:
    """Only empty parents are removed with a field."""
    document = {"spec": {"a": {"b": 1, "c": 2}}}
    take_at(document, object_path(".spec.a.b"))
    assert document == {"spec": {"a": {"c": 2}}}


def test_a_missing_field_is_absent_and_null_is_not() -> None:
    """Null is a value that a client wrote."""
    assert value_at({"spec": None}, object_path(".spec.a")) is ABSENT
    assert value_at({"spec": {"a": None}}, object_path(".spec.a")) is None
    assert take_at({"spec": {}}, object_path(".spec.a")) is ABSENT


def test_a_field_is_not_set_inside_a_scalar() -> None:
    """A text on the path must not be overwritten."""
    document = {"spec": {"a": "text"}}
    assert not put_at(document, object_path(".spec.a.b"), 1)
    assert document == {"spec": {"a": "text"}}
