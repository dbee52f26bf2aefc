"""Finds the source of a test's condition and the values it compares, so that a failed wait explains itself.

A condition is usually a lambda whose value is just ``False``. Its source is found by its code object, and the operands
of its comparisons are evaluated again, as the condition itself is at each check.
"""

import ast
import functools
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType

from steersman.json_types import JsonObject

#: Characters of a value that are shown.
_MOST = 400


class ConditionSource:
    """The source of a condition, as far as it can be found."""

    def __init__(self, condition: Callable[[], object]) -> None:
        self._function = _function_of(condition)
        self._lambda = _find_lambda(self._function.__code__) if self._function is not None else None

    @property
    def name(self) -> str:
        """The condition as written: the body of a lambda, or the name of a function."""
        if self._lambda is not None:
            return f"`{ast.unparse(self._lambda.body)}`"
        name = getattr(self._function, "__name__", "<lambda>")
        return "the condition" if name == "<lambda>" else name

    @property
    def place(self) -> str:
        """File and line; empty if the condition is not a Python function."""
        if self._function is None:
            return ""
        code = self._function.__code__
        return f"{_short(code.co_filename)}:{code.co_firstlineno}"

    def values(self) -> list[str]:
        """Evaluate what the condition compares, as ``expression was value``; skip what cannot be evaluated."""
        if self._lambda is None or self._function is None:
            return []
        names = {**self._function.__globals__, **_names_of(self._function)}
        found = []
        for operand in _operands(self._lambda.body):
            try:
                code = compile(ast.Expression(operand), self._function.__code__.co_filename, "eval")
                value = repr(eval(code, names))  # noqa: S307 - the test's own code, which ran a moment ago
            except Exception:  # noqa: BLE001, S112 - an explanation must not hide what it explains
                continue
            found.append(f"{ast.unparse(operand)} was {value[:_MOST]}")
        return list(dict.fromkeys(found))


def _function_of(condition: Callable[..., object]) -> FunctionType | None:
    match condition:
        case FunctionType():
            return condition
        case MethodType(__func__=FunctionType() as function):
            return function
        case functools.partial(func=function):
            return _function_of(function)
        case _:
            return None


def _find_lambda(code: CodeType) -> ast.Lambda | None:
    """Return the only lambda that the code can come from; ``None`` if there is none or more than one."""
    if code.co_name != "<lambda>":
        return None
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and _can_be(node, code)]
    return found[0] if len(found) == 1 else None


def _can_be(node: ast.Lambda, code: CodeType) -> bool:
    if node.lineno != code.co_firstlineno:
        return False
    body = node.body
    first, last = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    inside = [
        first <= (line, column) <= last
        for line, _, column, _ in code.co_positions()
        # An instruction that comes from no expression has no column, or the first one of its line.
        if line is not None and column
    ]
    return bool(inside) and all(inside)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=comparators):
            yield from (one for one in (left, *comparators) if not isinstance(one, ast.Constant))
        case ast.BoolOp(values=values):
            for value in values:
                yield from _operands(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand


def _names_of(function: FunctionType) -> JsonObject:
    """Return the names that a function sees besides its globals: its closure, and the defaults of its parameters."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    names = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names | (function.__kwdefaults__ or {})


def _short(path: str) -> str:
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
