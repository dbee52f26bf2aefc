"""Generates Python source for the common rules: the value of a rule without metering, ten times faster.

The generated function works on plain JSON. It returns only what is certain: if a field is missing, a number overflows,
a type is not the declared one or a list is longer than declared, it raises, and the interpreter decides. So it needs
neither error absorption nor messages, and a rule whose estimated cost is within the limit needs no meter. An expression
that uses anything else has no generated function.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from steersman.cel.checking.declarations import UNCLIPPED, Clip
from steersman.cel.errors import EvaluationError
from steersman.cel.evaluation.fast_helpers import HELPERS, Undecided
from steersman.cel.evaluation.patterns import searcher
from steersman.cel.library import PATCH_FUNCTIONS
from steersman.cel.syntax.escaping import unescape
from steersman.cel.syntax.tree import Call, Comprehension, Ident, ListExpr, Literal, Node, Select
from steersman.cel.types import Kind
from steersman.cel.values.scalar_shapes import (
    BoolShape,
    DoubleShape,
    IntOrStringShape,
    IntShape,
    Shape,
    StringShape,
    UnknownShape,
)
from steersman.cel.values.shapes import ListShape, ObjectShape, SchemaList
from steersman.cel.values.values import INT_MAX, INT_MIN

Fast = Callable[[Any, Any], Any]


class _Unsupported(Exception):  # noqa: N818 - a question handed on, not an error
    """This expression has no generated form."""


def generate(root: Node, shape: Shape, clip: Clip = UNCLIPPED) -> Fast | None:
    """Return a function of ``self`` and ``oldSelf``; ``None`` for an expression without a generated form.

    The function raises ``Undecided`` for values that are larger than the clip.
    """
    emitter = _Emitter(shape, clip)
    try:
        source = f"def rule(v_self, v_oldSelf):\n    return {emitter.scalar(root)}\n"
        # The source is made of the parts below; of the author's text only quoted constants get in.
        exec(compile(source, "<rule>", "exec"), emitter.namespace)  # noqa: S102 - see above
    except (_Unsupported, SyntaxError, MemoryError, RecursionError):
        return None
    generated: Fast = emitter.namespace["rule"]
    return generated


_COMPARISONS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!="}
_ARITHMETIC = {"_+_": "+", "_-_": "-", "_*_": "*"}
_ORDERED = frozenset({Kind.INT, Kind.DOUBLE, Kind.STRING})
_SCALAR = frozenset({Kind.INT, Kind.DOUBLE, Kind.STRING, Kind.BOOL})
#: Types that library functions take and return without a schema.
_PASSED = _SCALAR | {Kind.OPAQUE, Kind.OBJECT}
_COMPOSITE = frozenset({Kind.LIST, Kind.MAP, Kind.OBJECT})
#: The classes of JSON values that fit a shape.
_READABLE: dict[type, frozenset[type]] = {
    IntShape: frozenset({int}),
    DoubleShape: frozenset({int, float}),
    BoolShape: frozenset({bool}),
    StringShape: frozenset({str}),
    IntOrStringShape: frozenset({int, str}),
    ListShape: frozenset({list}),
    ObjectShape: frozenset({dict}),
    UnknownShape: frozenset({dict, list, str, int, float, bool}),
}
_SCALAR_CLASSES: dict[type, type] = {IntShape: int, BoolShape: bool, StringShape: str, DoubleShape: float}
_CLASSES: dict[type[Shape], str] = {IntShape: "int", StringShape: "str", BoolShape: "bool"}


@dataclass(frozen=True, slots=True)
class _Raw:
    """Code whose value is JSON, seen through a shape."""

    code: str
    shape: Shape


class _Emitter:
    """Writes the source of one rule."""

    def __init__(self, shape: Shape, clip: Clip) -> None:
        self._clip = clip
        self.namespace: dict[str, Any] = dict(HELPERS)
        self._variables: dict[str, list[_Raw | str]] = {
            "self": [_Raw("v_self", shape)],
            "oldSelf": [_Raw("v_oldSelf", shape)],
        }
        self._count = 0
        self._loops = 0

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _constant(self, value: object) -> str:
        name = self._fresh("k")
        self.namespace[name] = value
        return name

    # Values

    def scalar(self, node: Node) -> str:
        """Write code for a value that is not JSON to look into: a bool, a number, a string."""
        match node:
            case Literal():
                return self._literal(node)
            case Ident() | Select(test_only=False):
                return self._checked(self._place(node))
            case Select():
                return self._has(node)
            case Call():
                return self._call(node)
            case Comprehension():
                return self._quantifier(node)
            case _:
                raise _Unsupported

    def _literal(self, node: Literal) -> str:
        if node.value.__class__ is float and not math.isfinite(node.value):
            raise _Unsupported
        if node.value.__class__ not in (str, int, bool, float):
            raise _Unsupported
        return f"({node.value!r})"

    def _checked(self, place: "_Raw | str") -> str:
        """Return code that checks that JSON has the declared type."""
        if isinstance(place, str):
            return place
        temporary = self._fresh("t")
        if isinstance(place.shape, DoubleShape):
            is_number = f"{temporary}.__class__ is float or {temporary}.__class__ is int"
            return f"(float({temporary}) if (({temporary} := {place.code}), {is_number})[1] else bail())"
        name = _CLASSES.get(place.shape.__class__)
        if name is None or (isinstance(place.shape, StringShape) and place.shape.has_format):
            raise _Unsupported
        checked = f"({temporary} := {place.code}).__class__ is {name}"
        if isinstance(place.shape, StringShape) and _may_exceed(place.shape.most, self._clip.text):
            checked += f" and len({temporary}) <= {self._clip.text}"
        return f"({temporary} if {checked} else bail())"

    def _place(self, node: Node) -> "_Raw | str":
        """Write code that reaches JSON: a variable, a field, an element."""
        match node:
            case Ident() if node.constant is None and node.name in self._variables:
                return self._variables[node.name][-1]
            case Select(test_only=False):
                return self._field(node)
            case Call(function="_[_]"):
                return self._index(node)
            case _:
                raise _Unsupported

    def _raw(self, node: Node) -> _Raw:
        place = self._place(node)
        if isinstance(place, str):
            raise _Unsupported
        return place

    def _field(self, node: Select) -> _Raw:
        operand = self._raw(node.operand)
        name, shape = _property(operand.shape, node.field)
        return _Raw(f"{operand.code}[{name!r}]", shape)

    def _has(self, node: Select) -> str:
        operand = self._raw(node.operand)
        name, shape = _property(operand.shape, node.field)
        absent = "None" if isinstance(operand.shape, ObjectShape) and operand.shape.is_object else "absent"
        return self._is_readable(f"{operand.code}.get({name!r}, {absent})", shape, absent)

    def _is_readable(self, code: str, shape: Shape | None, absent: str) -> str:
        """Return code for whether a value is there; one of another type than declared is left to the interpreter."""
        temporary = self._fresh("t")
        readable = f"({temporary}.__class__ in {self._constant(_readable_classes(shape))} or bail())"
        return f"(({temporary} := {code}) is not {absent} and {readable})"

    def _index(self, node: Call) -> _Raw:
        operand = self._raw(node.args[0])
        shape = operand.shape
        key = self.scalar(node.args[1])
        if isinstance(shape, ListShape) and shape.items is not None:
            return _Raw(f"at({operand.code}, {key})", shape.items)
        if isinstance(shape, ObjectShape) and not shape.is_object and shape.values is not None:
            return _Raw(f"{operand.code}[{key}]", shape.values)
        raise _Unsupported

    # Calls

    def _call(self, node: Call) -> str:
        writer = _WRITERS.get(node.function)
        if writer is not None:
            return writer(self, node)
        return self._library(node)

    def _logical(self, node: Call) -> str:
        word = "and" if node.function == "_&&_" else "or"
        left, right = (self._bool(arg) for arg in node.args)
        return f"({left} {word} {right})"

    def _bool(self, node: Node) -> str:
        if node.type.kind is not Kind.BOOL:
            raise _Unsupported
        return self.scalar(node)

    def _not(self, node: Call) -> str:
        return f"(not {self._bool(node.args[0])})"

    def _conditional(self, node: Call) -> str:
        condition, then, otherwise = node.args
        return f"({self.scalar(then)} if {self._bool(condition)} else {self.scalar(otherwise)})"

    def _compare(self, node: Call) -> str:
        left, right = node.args
        kind = left.type.kind
        operator = _COMPARISONS[node.function]
        if kind is not right.type.kind:
            raise _Unsupported
        if kind is Kind.DOUBLE and not (_is_number(left) and _is_number(right)):
            raise _Unsupported
        if kind in _ORDERED or (kind is Kind.BOOL and operator in ("==", "!=")):
            return f"({self.scalar(left)} {operator} {self.scalar(right)})"
        if kind in _COMPOSITE and operator in ("==", "!="):
            same = f"same({self._comparable(left)}, {self._comparable(right)})"
            return same if operator == "==" else f"(not {same})"
        raise _Unsupported

    def _comparable(self, node: Node) -> str:
        """Write code for JSON that is equal for Python exactly when it is equal for CEL."""
        if isinstance(node, ListExpr | Comprehension):
            return self._list(node)
        raw = self._raw(node)
        if not raw.shape.is_plain:
            raise _Unsupported
        return f"{self._constant(partial(_fitting, raw.shape))}({raw.code})"

    def _arithmetic(self, node: Call) -> str:
        left, right = node.args
        kinds = {left.type.kind, right.type.kind}
        operator = _ARITHMETIC[node.function]
        if kinds == {Kind.STRING}:
            return f"({self.scalar(left)} {operator} {self.scalar(right)})"
        if kinds != {Kind.INT}:
            raise _Unsupported
        return self._in_range(f"{self.scalar(left)} {operator} {self.scalar(right)}")

    def _in_range(self, code: str) -> str:
        temporary = self._fresh("t")
        return f"({temporary} if {INT_MIN} <= ({temporary} := {code}) <= {INT_MAX} else bail())"

    def _division(self, node: Call) -> str:
        left, right = node.args
        if {left.type.kind, right.type.kind} != {Kind.INT}:
            raise _Unsupported
        name = "divide" if node.function == "_/_" else "remainder"
        return f"{name}({self.scalar(left)}, {self.scalar(right)})"

    def _negate(self, node: Call) -> str:
        if node.args[0].type.kind is not Kind.INT:
            raise _Unsupported
        return self._in_range(f"-{self.scalar(node.args[0])}")

    def _in(self, node: Call) -> str:
        value, container = node.args
        if isinstance(container, ListExpr):
            constants = [element.value for element in container.elements if isinstance(element, Literal)]
            kinds = {constant.__class__ for constant in constants}
            if len(constants) != len(container.elements) or kinds not in ({str}, {int}):
                raise _Unsupported
            return f"({self.scalar(value)} in {self._constant(frozenset(constants))})"
        raw = self._raw(container)
        if value.type.kind is not Kind.STRING:
            raise _Unsupported
        if isinstance(raw.shape, ListShape):
            if not isinstance(raw.shape.items, StringShape) or raw.shape.items.has_format:
                raise _Unsupported
            return f"({self.scalar(value)} in texts({raw.code}))"
        if not isinstance(raw.shape, ObjectShape) or raw.shape.is_object:
            raise _Unsupported
        return self._is_readable(f"{raw.code}.get({self.scalar(value)}, absent)", raw.shape.values, "absent")

    def _size(self, node: Call) -> str:
        operand = node.operands[0]
        if operand.type.kind is Kind.STRING:
            return f"len({self.scalar(operand)})"
        if isinstance(operand, Comprehension):
            return f"len({self._built_list(operand, lambda _added: '1')})"
        if operand.type.kind is Kind.LIST and isinstance(operand, Call) and operand.function != "_[_]":
            return f"len({self._list(operand)})"
        return f"len({self._container_code(self._raw(operand))})"

    def _text_test(self, node: Call) -> str:
        text, part = (self.scalar(operand) for operand in node.operands)
        if any(operand.type.kind is not Kind.STRING for operand in node.operands):
            raise _Unsupported
        if node.function == "contains":
            return f"({part} in {text})"
        return f"{text}.{node.function.lower()}({part})"

    def _matches(self, node: Call) -> str:
        text, pattern = node.operands
        if not isinstance(pattern, Literal) or text.type.kind is not Kind.STRING:
            raise _Unsupported
        search = self._constant(searcher(pattern.value))
        return f"({search}({self.scalar(text)}) is not None)"

    def _or_value(self, node: Call) -> str:
        """Write ``self.?a.orValue(b)``."""
        optional, default = node.operands
        if not isinstance(optional, Call) or optional.function != "_?._":
            raise _Unsupported
        raw = self._optional_place(optional)
        temporary = self._fresh("t")
        found = self._checked(_Raw(temporary, raw.shape))
        return f"({found} if ({temporary} := {raw.code}) is not None else {self.scalar(default)})"

    def _has_value(self, node: Call) -> str:
        optional = node.operands[0]
        if isinstance(optional, Call) and optional.function == "_?._":
            place = self._optional_place(optional)
            return self._is_readable(place.code, place.shape, "None")
        return self._library(node)

    def _optional_place(self, node: Call) -> _Raw:
        operand, name = node.args
        raw = self._raw(operand)
        if not isinstance(name, Literal) or not isinstance(raw.shape, ObjectShape) or not raw.shape.is_object:
            raise _Unsupported
        key, shape = _property(raw.shape, name.value)
        return _Raw(f"{raw.code}.get({key!r})", shape)

    def _library(self, node: Call) -> str:
        """Write the call of a library function on values that need no schema; of constants, its value."""
        if len(node.overloads) != 1 or node.function in _NOT_PASSED:
            raise _Unsupported
        run = PATCH_FUNCTIONS.by_id[node.overloads[0]].run
        constants = [operand.value for operand in node.operands if isinstance(operand, Literal)]
        if len(constants) == len(node.operands):
            return self._folded(run, constants)
        arguments = [self._argument(operand) for operand in node.operands]
        return f"{self._constant(run)}({', '.join(arguments)})"

    def _folded(self, run: Callable[..., Any], constants: list[object]) -> str:
        try:
            return self._constant(run(*constants))
        except EvaluationError:
            raise _Unsupported from None

    def _argument(self, node: Node) -> str:
        if node.type.kind is Kind.LIST:
            return self._list(node)
        if node.type.kind not in _PASSED:
            raise _Unsupported
        return self.scalar(node)

    def _list(self, node: Node) -> str:
        """Write code for a list of scalars, complete with all its values."""
        if not node.type.params or node.type.params[0].kind not in _SCALAR:
            raise _Unsupported
        match node:
            case ListExpr() if not node.optional:
                return f"[{', '.join(map(self.scalar, node.elements))}]"
            case Comprehension():
                return self._built_list(node, self._transformed)
            case Call() if node.function != "_[_]":
                return self._library(node)
            case _:
                return self._scalars(self._raw(node))

    def _scalars(self, raw: _Raw) -> str:
        shape = raw.shape
        if not isinstance(shape, ListShape) or shape.items is None or shape.list_class is not SchemaList:
            raise _Unsupported
        element = self._fresh("v")
        return f"[{self._checked(_Raw(element, shape.items))} for {element} in {self._container_code(raw)}]"

    # Loops

    def _container_code(self, raw: _Raw) -> str:
        """Return code for a list or map of the resource, which is no longer than declared."""
        if isinstance(raw.shape, ListShape):
            return f"bounded({raw.code}, list, {self._most(raw.shape.most)})"
        if isinstance(raw.shape, ObjectShape) and not raw.shape.is_object:
            return f"bounded({raw.code}, dict, {self._most(raw.shape.most)})"
        raise _Unsupported

    def _most(self, declared: int | None) -> int:
        return self._clip.items if declared is None else min(declared, self._clip.items)

    def _loop(self, node: Comprehension) -> str:
        """Write ``for … in …`` and bind the names of the loop."""
        first = self._fresh("v")
        if isinstance(node.iter_range, Call) and node.iter_range.function != "_[_]":
            return self._loop_over_result(node, node.iter_range, first)
        raw = self._raw(node.iter_range)
        code, shape = self._container_code(raw), raw.shape
        element = shape.items if isinstance(shape, ListShape) else None
        if node.iter_var2 is None:
            self._bind(node.iter_var, first if element is None else _Raw(first, element))
            return f"for {first} in {code}"
        second = self._fresh("v")
        values = element if element is not None else shape.values if isinstance(shape, ObjectShape) else None
        if values is None:
            raise _Unsupported
        self._bind(node.iter_var, first)
        self._bind(node.iter_var2, _Raw(second, values))
        pairs = f"enumerate({code})" if element is not None else f"{code}.items()"
        return f"for {first}, {second} in {pairs}"

    def _loop_over_result(self, node: Comprehension, source: Call, element: str) -> str:
        """Return a loop over the result of a function; only once, because its length is not declared."""
        if self._loops or node.iter_var2 is not None:
            raise _Unsupported
        self._loops += 1
        code = self._list(source)
        self._bind(node.iter_var, element)
        return f"for {element} in {code}"

    def _bind(self, name: str, value: "_Raw | str") -> None:
        self._variables.setdefault(name, []).append(value)

    def _unbind(self, node: Comprehension) -> None:
        self._variables[node.iter_var].pop()
        if node.iter_var2 is not None:
            self._variables[node.iter_var2].pop()

    def _quantifier(self, node: Comprehension) -> str:
        """Write ``all``, ``exists`` and ``exists_one``."""
        step = node.step
        if node.is_bind or not isinstance(step, Call) or not isinstance(node.init, Literal):
            raise _Unsupported
        loop = self._loop(node)
        if step.function in ("_&&_", "_||_"):
            quantifier = "all" if step.function == "_&&_" else "any"
            code = f"{quantifier}({self._bool(step.args[1])} {loop})"
        else:
            code = f"(sum(1 {loop} if {self._bool(step.args[0])}) == 1)"
        self._unbind(node)
        return code

    def _transformed(self, added: Node) -> str:
        if added.type.kind not in _SCALAR:
            raise _Unsupported
        return self.scalar(added)

    def _built_list(self, node: Comprehension, write: Callable[[Node], str]) -> str:
        """Return code for ``filter`` and ``map``; ``write`` returns the code of the added value."""
        step: Node = node.step
        predicate: Node | None = None
        if node.is_bind or not isinstance(node.init, ListExpr):
            raise _Unsupported
        if isinstance(step, Call) and step.function == "_?_:_":
            predicate, step = step.args[0], step.args[1]
        if not isinstance(step, Call) or step.function != "_+_" or not isinstance(step.args[1], ListExpr):
            raise _Unsupported
        loop = self._loop(node)
        (added,) = step.args[1].elements
        if not isinstance(added, Ident):
            # Even where only the length counts, an element that cannot be computed is an error.
            self._transformed(added)
            write = self._transformed
        condition = "" if predicate is None else f" if {self._bool(predicate)}"
        code = f"[{write(added)} {loop}{condition}]"
        self._unbind(node)
        return code


#: The estimate counts a character as up to four.
_BYTES_PER_CHARACTER = 4


def _may_exceed(declared: int | None, clip: int) -> bool:
    """Return whether a string that the schema allows may be longer than the clip."""
    return clip != UNCLIPPED.text and (declared is None or declared * _BYTES_PER_CHARACTER > clip)


def _is_number(node: Node) -> bool:
    """Return whether a double is surely not NaN: it is written, or JSON."""
    return isinstance(node, Literal | Ident | Select)


def _readable_classes(shape: Shape | None) -> frozenset[type]:
    """Return the classes of JSON values that can be read as a shape."""
    is_format = isinstance(shape, StringShape) and shape.has_format
    if is_format or (isinstance(shape, ListShape) and shape.items is None) or shape.__class__ not in _READABLE:
        raise _Unsupported
    return _READABLE[shape.__class__]


def _fitting(shape: Shape, value: object) -> object:
    """Return JSON that fits a plain shape at any depth; anything else is left to the interpreter."""
    # Classes are compared, because isinstance is slow on abstract base classes.
    if value.__class__ not in _READABLE[shape.__class__] and not (value is None and shape.nullable):
        raise Undecided
    if value.__class__ is dict and shape.__class__ is ObjectShape:
        others = None if shape.is_object else shape.values
        for key, member in value.items():
            declared = shape.properties.get(key, others)
            # Most members are scalars that fit: only others are worth a call.
            if declared is not None and member.__class__ is not _SCALAR_CLASSES.get(declared.__class__):
                _fitting(declared, member)
    elif value.__class__ is list and shape.__class__ is ListShape and shape.items is not None:
        for item in value:
            _fitting(shape.items, item)
    return value


def _property(shape: Shape, field: str) -> tuple[str, Shape]:
    """Return the JSON key and the shape of a field by its name in rules."""
    if not isinstance(shape, ObjectShape):
        raise _Unsupported
    name = unescape(field) if shape.is_object else field
    found = shape.shape_of(name) if name is not None else None
    if name is None or found is None or (found.nullable and not shape.is_object):
        raise _Unsupported
    return name, found


#: Functions that are special in generated code, or not supported by it.
_NOT_PASSED = frozenset({"dyn", "type", "@not_strictly_false", "_?._", "or", "orValue", "value"})

_WRITERS: Mapping[str, Callable[[_Emitter, Call], str]] = {
    **dict.fromkeys(("_&&_", "_||_"), _Emitter._logical),  # noqa: SLF001 - the class's own table
    **dict.fromkeys(_COMPARISONS, _Emitter._compare),  # noqa: SLF001 - same
    **dict.fromkeys(_ARITHMETIC, _Emitter._arithmetic),  # noqa: SLF001 - same
    **dict.fromkeys(("_/_", "_%_"), _Emitter._division),  # noqa: SLF001 - same
    **dict.fromkeys(("contains", "startsWith", "endsWith"), _Emitter._text_test),  # noqa: SLF001 - same
    "!_": _Emitter._not,  # noqa: SLF001 - same
    "-_": _Emitter._negate,  # noqa: SLF001 - same
    "_?_:_": _Emitter._conditional,  # noqa: SLF001 - same
    "@in": _Emitter._in,  # noqa: SLF001 - same
    "size": _Emitter._size,  # noqa: SLF001 - same
    "matches": _Emitter._matches,  # noqa: SLF001 - same
    "orValue": _Emitter._or_value,  # noqa: SLF001 - same
    "hasValue": _Emitter._has_value,  # noqa: SLF001 - same
    "_[_]": lambda emitter, node: emitter._checked(emitter._place(node)),  # noqa: SLF001 - same
}
