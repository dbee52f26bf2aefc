"""Fields by their paths: found, set, taken."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.json_types import ABSENT
from steersman.schema.object_paths import object_path, put_at, take_at, value_at

PATHS = st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(lambda names: ("spec", *names))


@given(path=PATHS, value=st.one_of(st.none(), st.integers(), st.just({"x": 1})))
def test_what_was_put_is_found_and_taken_without_a_trace(path: tuple[str, ...], value: object) -> None:
    """A rename must leave nothing behind, or the way back would find it."""
    document: dict[str, object] = {"spec": {}}
    assert put_at(document, path, value)
    assert value_at(document, path) == value
    assert take_at(document, path) == value
    assert document == {"spec": {}}


def test_a_whole_part_stays_though_it_is_empty() -> None:
    """An object without a spec is another object than one with an empty spec."""
    document = {"spec": {"a": 1}}
    take_at(document, object_path(".spec.a"))
    assert document == {"spec": {}}


def test_neighbours_stay() -> None:
    """Only what is empty goes with a field."""
    document = {"spec": {"a": {"b": 1, "c": 2}}}
    take_at(document, object_path(".spec.a.b"))
    assert document == {"spec": {"a": {"c": 2}}}


def test_what_is_not_there_is_absent_and_null_is_not() -> None:
    """Null is a value that somebody wrote."""
    assert value_at({"spec": None}, object_path(".spec.a")) is ABSENT
    assert value_at({"spec": {"a": None}}, object_path(".spec.a")) is None
    assert take_at({"spec": {}}, object_path(".spec.a")) is ABSENT


def test_a_field_is_not_put_into_something_else() -> None:
    """A text in the way is no object to put fields into, and must not be overwritten."""
    document = {"spec": {"a": "text"}}
    assert not put_at(document, object_path(".spec.a.b"), 1)
    assert document == {"spec": {"a": "text"}}
