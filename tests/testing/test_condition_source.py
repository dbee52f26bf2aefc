"""Conditions that explain themselves."""

import functools
from collections.abc import Callable

import pytest

from steersman.testing.condition_source import ConditionSource

LIMIT = 3


def _texts(condition: Callable[[], object]) -> tuple[str, list[str]]:
    source = ConditionSource(condition)
    return source.name, source.values()


def test_the_operands_of_a_comparison_are_shown_with_their_values() -> None:
    """``False`` alone explains nothing; the compared values do."""
    found = ["a", "b"]
    name, values = _texts(lambda: len(found) == LIMIT)
    assert name == "`len(found) == LIMIT`"
    assert values == ["len(found) was 2", "LIMIT was 3"]


def test_every_part_of_a_longer_condition_is_shown() -> None:
    """Either may be the one that does not hold; constants are left out."""
    first, second = 1, ""
    _, values = _texts(lambda: first == 2 and not second)
    assert values == ["first was 1", "second was ''"]


def test_names_inside_comprehensions_and_defaults_are_found() -> None:
    """A lambda sees more than its globals."""
    found = [1, 2]
    _, values = _texts(lambda most=1: [one for one in found if one > most] == [])
    assert values == ["[one for one in found if one > most] was [2]", "[] was []"]


def test_two_conditions_in_one_line_are_distinguished() -> None:
    """By the position of their code in the line."""
    one, two = (lambda: LIMIT == 1), (lambda: LIMIT == 2)
    assert [_texts(one)[0], _texts(two)[0]] == ["`LIMIT == 1`", "`LIMIT == 2`"]


def test_an_operand_that_raises_is_left_out() -> None:
    """An explanation must not hide the failure."""
    empty: list[int] = []
    _, values = _texts(lambda: empty[0] == LIMIT)
    assert values == ["LIMIT was 3"]


def _is_ready() -> bool:
    return False


@pytest.mark.parametrize("condition", [_is_ready, functools.partial(_is_ready)])
def test_a_function_is_shown_by_its_name(condition: Callable[[], bool]) -> None:
    """With the line where it is defined."""
    source = ConditionSource(condition)
    assert source.name == "_is_ready"
    assert source.place.endswith(f"test_condition_source.py:{_is_ready.__code__.co_firstlineno}")


def test_a_condition_without_source_has_no_text() -> None:
    """Such as a built-in, or code without a file."""
    assert _texts([].__len__) == ("the condition", [])
    assert _texts(eval("lambda: 1 == 2")) == ("the condition", [])  # noqa: S307 - code without a file
