"""What varies between undisturbed runs is learned; nothing else is forgiven."""

import json
from typing import Any

import pytest

from steersman.simulation.end_states import difference, learn_volatile, mask
from steersman.simulation.event_loop import NotDeterministic


def _object(name: str, **rest: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **rest})


def test_a_value_that_differs_between_seeds_is_not_compared() -> None:
    """A password is another one in each run; that is no reason to give up comparing its Secret."""
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
    """Any end would look wrong, or none."""
    with pytest.raises(NotDeterministic, match="different objects"):
        learn_volatile([_object("a")], [_object("b")])


def test_the_difference_shows_both_sides() -> None:
    """It is what a person reads first."""
    told = difference([_object("a")], [_object("b")])
    assert "--- undisturbed" in told
    assert "+++ with the fault" in told
    assert difference([_object("a")], [_object("a")]) == ""
