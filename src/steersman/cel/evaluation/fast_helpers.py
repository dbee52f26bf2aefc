"""The names that generated code uses, and how it defers to the interpreter."""

from typing import Any

from steersman.cel.library.core import divide_ints, remainder_ints


class Undecided(Exception):  # noqa: N818 - a question handed on, not an error
    """The generated code cannot decide; the interpreter can."""


def _bail() -> object:
    raise Undecided


def _same(left: object, right: object) -> bool:
    if left == right:
        return True
    raise Undecided


def _bounded(values: Any, kind: object, most: int) -> object:
    if values.__class__ is kind and len(values) <= most:
        return values
    raise Undecided


def _at(values: object, place: int) -> object:
    if values.__class__ is not list or place < 0:
        raise Undecided
    return values[place]


def _texts(values: Any) -> object:
    """Return a list of strings; a list with anything else in it is left to the interpreter."""
    if values.__class__ is list and {*map(type, values)} <= _TEXT:
        return values
    raise Undecided


_TEXT = frozenset({str})


HELPERS: dict[str, Any] = {
    "bail": _bail,
    "same": _same,
    "bounded": _bounded,
    "at": _at,
    "texts": _texts,
    "absent": object(),
    "divide": divide_ints,
    "remainder": remainder_ints,
    "list": list,
    "dict": dict,
    "enumerate": enumerate,
    "all": all,
    "any": any,
    "sum": sum,
    "len": len,
    "float": float,
    "int": int,
    "str": str,
    "bool": bool,
    "__builtins__": {},
}
