"""Values that vary between undisturbed runs are ignored; all others are compared."""

import json
from typing import Any

import pytest

from steersman.simulation.event_loop import NotDeterministic
from steersman.simulation.oracles.end_states import difference, learn_volatile, mask


def _object(name: str, **rest: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **rest})


def test_a_value_that_differs_between_seeds_is_not_compared() -> None:
    """A password differs in each run; the rest of its Secret is still compared."""
    volatile = learn_volatile(
        [_object("a", data={"p": "x", "user": "u"})], [_object("a", data={"p": "y", "user": "u"})]
    )
    assert volatile == {("v1", "Secret", "", "a"): frozenset({("data", "p")})}
    expected = mask([_object("a", data={"p": "x", "user": "u"})], volatile)
    assert mask([_object("a", data={"p": "z", "user": "u"})], volatile) == expected
    assert mask([_object("a", data={"p": "z", "user": "other"})], volatile) != expected


def test_lists_of_different_lengths_vary_as_a_whole() -> None:
    """Which item is which cannot be known."""
    volatile = learn_volatile([_object("a", data=["x"])], [_object("a", data=["x", "y"])])
    assert volatile == {("v1", "Secret", "", "a"): frozenset({("data",)})}


def test_nothing_varies_between_equal_ends() -> None:
    """Then every field counts."""
    assert learn_volatile([_object("a")], [_object("a")]) == {}


def test_an_operator_with_random_end_states_is_an_error() -> None:
    """The comparison would always fail, or never."""
    with pytest.raises(NotDeterministic, match="different objects"):
        learn_volatile([_object("a")], [_object("b")])


def test_the_difference_shows_both_sides() -> None:
    """A user reads it first."""
    told = difference([_object("a")], [_object("b")])
    assert "--- undisturbed" in told
    assert "+++ with the fault" in told
    assert difference([_object("a")], [_object("a")]) == ""
