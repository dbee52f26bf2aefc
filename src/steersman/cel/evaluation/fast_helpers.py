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


def _at(values: Any, place: int) -> object:
    if place < 0:
        raise Undecided
    return values[place]


HELPERS: dict[str, Any] = {
    "bail": _bail,
    "same": _same,
    "bounded": _bounded,
    "at": _at,
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
