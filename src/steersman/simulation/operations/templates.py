"""Sequences of operations from a schema: each property on its own, then several at once by chance. Pure.

The object begins with as little as the operator takes. For every property the schema yields values, and each template
yields a sequence with them, so that a small number of sequences tries every template, and a larger one every property.

================  ==========================================================================
changed           begin, then set the property
rolled back       set it, then go back to the beginning
rejected          try a value that the schema does not allow, then a valid one
recreated         delete the object, and create it with the new value
off and on        for numbers and flags: set it, set it to zero or false, set it again
wandering         several changes by chance, the last of which counts
================  ==========================================================================
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, zip_longest
from typing import Any, TypeAlias

from steersman.json_types import ABSENT, JsonObject
from steersman.randomness import Randomness
from steersman.schema.generated_objects import generated
from steersman.simulation.operations.sequences import Delete, OperationSequence, Reject, Set, Step
from steersman.structural.custom_object import CustomKind
from steersman.structural.schema import Structural

#: A property of a spec.
Path: TypeAlias = tuple[str, ...]

#: How many objects are generated, how large a number without limits gets, and how deep properties are looked at.
_OBJECTS = 12
_LARGEST = 3
_DEEPEST = 4
#: How many changes a wandering sequence has at most.
_MOST_CHANGES = 4
_WRONG: dict[str, list[Any]] = {
    "integer": [-1, 10_001, "many"],
    "number": [-1.0, 10_001.0, "much"],
    "string": ["", "not one of them", 17],
    "boolean": ["yes"],
    "array": ["not a list"],
    "object": ["not an object"],
}


def generated_sequences(
    kind: CustomKind, *, count: int, seed: int, is_usable: Callable[[JsonObject], bool] = lambda _: True
) -> list[OperationSequence]:
    """Return that many sequences; fewer if the schema does not yield more, none if it yields no valid object.

    They begin with the smallest spec that is usable: a schema may leave out what an operator requires.
    """
    specs = sorted(_specs(kind, seed), key=lambda spec: len(str(spec)))
    if not specs:
        return []
    maker = _Maker(kind, next(filter(is_usable, specs), specs[0]), specs, Randomness(seed))
    # One sequence of each template in turn, so that a small number tries all of them.
    systematic = chain.from_iterable(zip_longest(*(template(maker) for template in _TEMPLATES)))
    # There may be fewer different ones than asked for.
    every = chain(filter(None, systematic), islice(maker.wandering(), 10 * count))
    return list(islice(_different(every), count))


def _specs(kind: CustomKind, seed: int) -> list[JsonObject]:
    made = generated(kind.schema, kind.api_version, kind.kind, count=_OBJECTS, seed=seed, limit=_LARGEST)
    return [document.get("spec") or {} for document in made]


def _different(sequences: Iterable[OperationSequence]) -> Iterator[OperationSequence]:
    known: set[str] = set()
    for sequence in sequences:
        if str(sequence) not in known:
            known.add(str(sequence))
            yield sequence


class _Maker:
    """Makes sequences that begin with one spec."""

    def __init__(self, kind: CustomKind, base: JsonObject, specs: list[JsonObject], chance: Randomness) -> None:
        self._kind = kind
        self.base = base
        self._specs = specs
        self._chance = chance
        node = kind.schema.node.properties.get("spec")
        #: The node of each property.
        self._nodes = dict(_properties(node)) if node is not None else {}

    def sequence(self, template: str, *steps: Step) -> OperationSequence:
        """Return a sequence."""
        return OperationSequence(self._kind.kind, steps, template)

    def changes(self) -> Iterator[tuple[Path, JsonObject]]:
        """Yield each property with a valid spec that differs from the beginning in it alone."""
        for path in self._nodes:
            for other in self._specs:
                value = _value(other, path)
                spec = _with(self.base, path, value)
                if value is not ABSENT and spec != self.base and self.is_valid(spec):
                    yield path, spec
                    break

    def wrong(self, path: Path) -> JsonObject | None:
        """Return a spec that the schema does not allow because of one property."""
        node = self._nodes[path]
        for value in _WRONG.get(node.types[0] if node.types else "", []):
            spec = _with(self.base, path, value)
            if not self.is_valid(spec):
                return spec
        return None

    def zero(self, path: Path, spec: JsonObject) -> JsonObject | None:
        """Return a valid spec with zero or false in a property that has more."""
        value = _value(spec, path)
        nothing: Any = False if isinstance(value, bool) else 0
        if not isinstance(value, int | float) or value == nothing:
            return None
        less = _with(spec, path, nothing)
        return less if self.is_valid(less) else None

    def wandering(self) -> Iterator[OperationSequence]:
        """Yield sequences of several changes by chance, without end if there is anything to change."""
        specs = [*(spec for _, spec in self.changes()), *self._specs, self.base]
        if len({str(spec) for spec in specs}) < 2:  # noqa: PLR2004 - one of them would not be a change
            return
        while True:
            count = 2 + int(self._chance.between(0, _MOST_CHANGES - 1))
            chosen = [specs[int(self._chance.between(0, len(specs)))] for _ in range(count)]
            yield self.sequence("wandering", *map(Set, chosen))

    def is_valid(self, spec: JsonObject) -> bool:
        """Return whether the schema allows a spec."""
        kind = self._kind
        document = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "a"},
            "spec": copy.deepcopy(spec),
        }
        kind.schema.default(document)
        return not kind.schema.validate(document).errors


def _changed(maker: _Maker) -> Iterator[OperationSequence]:
    for _, spec in maker.changes():
        yield maker.sequence("changed", Set(maker.base), Set(spec))


def _rolled_back(maker: _Maker) -> Iterator[OperationSequence]:
    for _, spec in maker.changes():
        yield maker.sequence("rolled back", Set(maker.base), Set(spec), Set(maker.base))


def _rejected(maker: _Maker) -> Iterator[OperationSequence]:
    for path, spec in maker.changes():
        wrong = maker.wrong(path)
        if wrong is not None:
            yield maker.sequence("rejected", Set(maker.base), Reject(wrong), Set(spec))


def _recreated(maker: _Maker) -> Iterator[OperationSequence]:
    yield maker.sequence("recreated", Set(maker.base), Delete(), Set(maker.base))
    for _, spec in maker.changes():
        yield maker.sequence("recreated", Set(maker.base), Delete(), Set(spec))


def _off_and_on(maker: _Maker) -> Iterator[OperationSequence]:
    for path, spec in maker.changes():
        less = maker.zero(path, spec)
        if less is not None:
            yield maker.sequence("off and on", Set(spec), Set(less), Set(spec))


_TEMPLATES: tuple[Callable[[_Maker], Iterator[OperationSequence]], ...] = (
    _changed,
    _rolled_back,
    _off_and_on,
    _recreated,
    _rejected,
)


def _properties(node: Structural, at: Path = ()) -> Iterator[tuple[Path, Structural]]:
    """Yield every property of a spec with its node; those of lists and maps belong to the list or map."""
    for name, part in node.properties.items():
        path = (*at, name)
        yield path, part
        if len(path) < _DEEPEST:
            yield from _properties(part, path)


def _value(spec: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(spec, dict) or name not in spec:
            return ABSENT
        spec = spec[name]
    return spec


def _with(spec: JsonObject, path: Path, value: Any) -> JsonObject:
    """Return a spec with another value of a property; parents that are not there are created."""
    name, *rest = path
    inner = spec.get(name)
    part = _with(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    return {**spec, name: part}
