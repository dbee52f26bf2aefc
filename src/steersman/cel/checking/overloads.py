"""Functions and their overloads: signatures for the checker, implementations for the evaluation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steersman.cel.errors import NoSuchOverload
from steersman.cel.types import CelType, Kind
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES
from steersman.cel.values.values import Uint, type_name

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function, and what it does."""

    function: str
    id: str
    params: tuple[CelType, ...]
    result: CelType
    run: Implementation
    is_member: bool = False
    #: True when the signature has type parameters.
    is_generic: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_generic", any(map(_has_param, (*self.params, self.result))))

    def accepts(self, args: Sequence[object]) -> bool:
        """Return whether it is made for these values."""
        return len(args) == len(self.params) and all(map(matches, self.params, args))


def _has_param(subject: CelType) -> bool:
    return subject.kind is Kind.PARAM or any(map(_has_param, subject.params))


def function(name: str, overload_id: str, params: Sequence[CelType], result: CelType, run: Implementation) -> Overload:
    """Return the declaration of ``name(params)``."""
    return Overload(name, overload_id, tuple(params), result, run)


def member(name: str, overload_id: str, params: Sequence[CelType], result: CelType, run: Implementation) -> Overload:
    """Return the declaration of ``params[0].name(params[1:])``."""
    return Overload(name, overload_id, tuple(params), result, run, is_member=True)


_CLASSES: dict[Kind, frozenset[Any]] = {
    Kind.BOOL: frozenset({bool}),
    Kind.INT: frozenset({int}),
    Kind.UINT: frozenset({Uint}),
    Kind.DOUBLE: frozenset({float}),
    Kind.STRING: frozenset({str}),
    Kind.BYTES: frozenset({bytes}),
    Kind.NULL: frozenset({type(None)}),
    Kind.MAP: MAP_CLASSES,
    Kind.LIST: LIST_CLASSES,
}
_ANYTHING = frozenset({Kind.DYN, Kind.PARAM})


def matches(expected: CelType, value: Any) -> bool:
    """Return whether a value is of a type; of a list or map, the first element decides."""
    if expected.kind in _ANYTHING:
        return True
    classes = _CLASSES.get(expected.kind)
    if classes is None:
        return type_name(value) == expected.name
    if value.__class__ not in classes:
        return False
    if expected.kind is Kind.LIST and len(value):
        return matches(expected.params[0], value[0])
    if expected.kind is Kind.MAP and len(value):
        first = next(iter(value.items()), None)
        return first is None or all(map(matches, expected.params, first))
    return True


class Functions:
    """Every function that expressions may call, by name and by overload."""

    def __init__(self, overloads: Iterable[Overload]) -> None:
        by_name: dict[str, list[Overload]] = {}
        self.by_id: dict[str, Overload] = {}
        for overload in overloads:
            by_name.setdefault(overload.function, []).append(overload)
            self.by_id[overload.id] = overload
        self.by_name: Mapping[str, Sequence[Overload]] = by_name


#: Functions whose missing overloads are reported without the types of their arguments.
_TERSE = {"size": "size", "matches": "", "startsWith": "", "endsWith": "", "contains": ""}


def dispatch(name: str, candidates: Sequence[Overload]) -> Implementation:
    """Return an implementation that chooses among overloads at run time, by the values."""

    def choose(*args: object) -> object:
        for candidate in candidates:
            if candidate.accepts(args):
                return candidate.run(*args)
        if name.startswith(("_", "@", "!", "-")):
            raise NoSuchOverload
        raise NoSuchOverload(_TERSE.get(name, f"{name}({', '.join(map(type_name, args))})"))

    return choose
