"""Comparing the ends of two runs: what differs between undisturbed runs is learned, and not compared. Pure.

Uids, times, versions and what the server assigns are taken out before, by ``testing.crashes.end_state``. What an
operator makes up itself, such as a password, is found by running the scenario undisturbed with two seeds: fields whose
values differ then vary by nature.
"""

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from steersman.json_types import JsonObject
from steersman.simulation.event_loop import NotDeterministic
from steersman.testing.crashes.end_state import json_text

#: An object's identity: API version, kind, namespace and name, with generated parts replaced.
Identity: TypeAlias = tuple[str, str, str, str]
#: A field of an object: keys and indexes from the top.
FieldPath: TypeAlias = tuple[str | int, ...]
#: Fields whose values vary, by object.
Volatile: TypeAlias = dict[Identity, frozenset[FieldPath]]

_VARIES = "<varies>"
_GENERATION = re.compile(r'("(?:generation|observedGeneration)": )\d+')


def learn_volatile(one: list[str], other: list[str]) -> Volatile:
    """Return the fields in which two undisturbed ends differ; raise if they do not even have the same objects."""
    left, right = _grouped(one), _grouped(other)
    if {key: len(group) for key, group in left.items()} != {key: len(group) for key, group in right.items()}:
        raise NotDeterministic(
            "two undisturbed runs with different seeds end with different objects, so no end can be compared:\n"
            + difference(one, other)
        )
    found = {
        identity: frozenset(
            path for mine, theirs in zip(group, right[identity], strict=True) for path in _differing(mine, theirs)
        )
        for identity, group in left.items()
    }
    return {identity: paths for identity, paths in found.items() if paths}


def mask(state: list[str], volatile: Volatile) -> list[str]:
    """Return an end without the values that vary."""
    if not volatile:
        return state
    return sorted(_masked(text, volatile) for text in state)


def without_generations(state: list[str]) -> list[str]:
    """Return an end without generations: those of an object that was created again count from its own creation."""
    return [_GENERATION.sub(r"\1<varies>", text) for text in state]


def difference(
    expected: list[str], found: list[str], names: tuple[str, str] = ("undisturbed", "with the fault")
) -> str:
    """Return the lines in which two ends differ, with a few around them; empty if they are equal."""
    if expected == found:
        return ""
    before = [line for text in expected for line in text.splitlines()]
    after = [line for text in found for line in text.splitlines()]
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm="", n=4))


def _masked(text: str, volatile: Volatile) -> str:
    document = json.loads(text)
    paths = volatile.get(_identity(document))
    if not paths:
        return text
    return json_text(_without(document, paths, ()))


def _without(value: Any, paths: frozenset[FieldPath], at: FieldPath) -> Any:
    if at in paths:
        return _VARIES
    match value:
        case dict():
            return {key: _without(item, paths, (*at, key)) for key, item in value.items()}
        case list():
            return [_without(item, paths, (*at, index)) for index, item in enumerate(value)]
        case _:
            return value


def _grouped(state: list[str]) -> dict[Identity, list[Any]]:
    groups: dict[Identity, list[Any]] = {}
    for text in sorted(state):
        document = json.loads(text)
        groups.setdefault(_identity(document), []).append(document)
    return groups


def _identity(document: JsonObject) -> Identity:
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata["name"]


def _differing(one: Any, other: Any, at: FieldPath = ()) -> Iterator[FieldPath]:
    match one, other:
        case dict(), dict() if one.keys() == other.keys():
            for key in one:
                yield from _differing(one[key], other[key], (*at, key))
        case list(), list() if len(one) == len(other):
            for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
                yield from _differing(mine, theirs, (*at, index))
        case _ if one != other:
            yield at
        case _:
            pass
