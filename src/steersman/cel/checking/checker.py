"""Types are inferred and overloads chosen before anything runs.

What cannot be typed is reported with the words of Kubernetes; where a value is dynamic, the choice of an overload is
left to the evaluation.
"""

from collections.abc import Mapping, Sequence

from steersman.cel.checking.declarations import Declaration
from steersman.cel.checking.overloads import Functions, Overload
from steersman.cel.checking.well_known import WELL_KNOWN, StructTypes
from steersman.cel.errors import Issue
from steersman.cel.syntax.tree import (
    Call,
    Comprehension,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
    walk,
)
from steersman.cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    Kind,
    Substitution,
    is_dyn_or_error,
    list_of,
    map_of,
    most_general,
    optional_of,
    type_of,
    unwrap_optional,
)
from steersman.cel.values.values import TypeValue, Uint

#: Names that stand for types.
_TYPE_NAMES: dict[str, CelType] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "dyn": DYN,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "string": STRING,
    "type": TYPE,
    "uint": UINT,
    "optional_type": optional_of(DYN),
    "net.IP": IP,
    "net.CIDR": CIDR,
}
_LITERALS: dict[type, CelType] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
_LOGICAL = frozenset({"_&&_", "_||_"})
_UNKNOWN_RANGE = frozenset({Kind.DYN, Kind.ERROR, Kind.PARAM})


def qualified_name(node: Node) -> str | None:
    """Return ``a.b.c`` if the node is nothing but names."""
    parts: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


#: Kinds of which a value is never of another kind.
_RIGID = frozenset(Kind) - {Kind.DYN, Kind.ERROR, Kind.NULL, Kind.PARAM}


def _clash(operands: Sequence[CelType], params: Sequence[CelType]) -> bool:
    """Return whether a signature surely cannot fit; most signatures of an operator do not."""
    if len(operands) != len(params):
        return True
    for operand, wanted in zip(operands, params, strict=True):
        if operand.kind is not wanted.kind and operand.kind in _RIGID and wanted.kind in _RIGID:
            return True
    return False


class Checker:
    """Checks one expression against the functions and variables it may use."""

    def __init__(
        self,
        functions: Functions,
        variables: Mapping[str, CelType],
        objects: Mapping[str, Declaration],
        structs: StructTypes = WELL_KNOWN.get,
    ) -> None:
        self.issues: list[Issue] = []
        self._functions = functions
        self._objects = objects
        self._structs = structs
        self._scopes: list[dict[str, CelType]] = [dict(variables)]
        self._known = Substitution()

    def check(self, root: Node) -> Node:
        """Annotate the tree with types and overloads; return the tree, which may have a new root."""
        root = self._check(root)
        for node in walk(root):
            node.type = self._known.apply(node.type, unknown_is_dyn=True)
        return root

    def _report(self, node: Node, message: str) -> None:
        self.issues.append(Issue(node.offset, message))

    def _mismatch(self, node: Node, expected: CelType, found: CelType) -> None:
        known = self._known.apply
        shown = (known(expected, unknown_is_dyn=False), known(found, unknown_is_dyn=False))
        self._report(node, f"expected type '{shown[0]}' but found '{shown[1]}'")

    def _undeclared(self, node: Node, name: str) -> None:
        self._report(node, f"undeclared reference to '{name}' (in container '')")
        node.type = ERROR

    def _check(self, node: Node) -> Node:
        match node:
            case Literal():
                node.type = _LITERALS[node.value.__class__]
            case Ident():
                self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                self._call(node)
            case Comprehension():
                self._comprehension(node)
            case _:
                self._aggregate(node)
        return node

    # Names

    def _lookup(self, name: str) -> tuple[CelType, TypeValue | None] | None:
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name], None
        named = _TYPE_NAMES.get(name)
        return None if named is None else (type_of(named), TypeValue(named.name))

    def _ident(self, node: Ident) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node, node.name)
            return
        node.name = node.name.removeprefix(".")
        node.type, node.constant = found

    def _select(self, node: Select) -> Node:
        name = qualified_name(node)
        found = self._lookup(name) if name is not None else None
        if name is not None and found is not None:
            ident = Ident(node.offset, name)
            ident.type, ident.constant = found
            return ident
        node.operand = self._check(node.operand)
        selected = self._field(node, node.operand, node.field, optional=False)
        node.type = BOOL if node.test_only else self._known.apply(selected)
        return node

    def _field(self, node: Node, operand: Node, name: str, *, optional: bool) -> CelType:
        """Return the type of a field of the operand; for an optional operand it is optional too."""
        target, was_optional = unwrap_optional(self._known.apply(operand.type))
        result = DYN
        if target.kind is Kind.MAP:
            result = target.params[1]
        elif target.kind is Kind.OBJECT:
            result = self._object_field(node, target, name)
        elif target.kind is Kind.PARAM:
            self._known.fits(DYN, target)
        elif not is_dyn_or_error(target):
            self._report(node, f"type '{target}' does not support field selection")
        return optional_of(result) if optional or was_optional else result

    def _object_field(self, node: Node, target: CelType, name: str) -> CelType:
        declared = self._objects.get(target.name)
        if declared is None and (built := self._structs(target.name)) is not None:
            return built.fields.get(name) or self._undefined(node, name)
        if declared is None:
            self._report(node, f"unexpected failed resolution of '{target.name}'")
            return ERROR
        found = declared.field(name)
        return found.type if found is not None else self._undefined(node, name)

    def _undefined(self, node: Node, name: str) -> CelType:
        self._report(node, f"undefined field '{name}'")
        return ERROR

    # Calls

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            operand, name = node.args
            node.args[0] = self._check(operand)
            self._check(name)
            if isinstance(name, Literal):
                node.type = self._known.apply(self._field(node, node.args[0], name.value, optional=True))
            node.overloads = ["select_optional_field"]
            return
        for place, arg in enumerate(node.args):
            node.args[place] = self._check(arg)
        if node.target is not None and not self._qualified_function(node):
            node.target = self._check(node.target)
        function = node.function.removeprefix(".") if node.target is None else node.function
        candidates = self._functions.by_name.get(function)
        if candidates is None:
            self._undeclared(node, node.function)
            return
        node.function = function
        self._resolve(node, candidates)

    def _qualified_function(self, node: Call) -> bool:
        """Turn ``ip.isCanonical(x)`` into a call of the function with that qualified name, if there is one."""
        prefix = qualified_name(node.target) if node.target is not None else None
        if prefix is None or f"{prefix}.{node.function}" not in self._functions.by_name:
            return False
        node.function = f"{prefix}.{node.function}"
        node.target = None
        return True

    def _resolve(self, node: Call, candidates: Sequence[Overload]) -> None:
        if node.function in _LOGICAL:
            self._logical(node, candidates[0])
            return
        operands = [operand.type for operand in node.operands]
        result: CelType | None = None
        for candidate in candidates:
            if candidate.is_member is not (node.target is not None) or _clash(operands, candidate.params):
                continue
            params, candidate_result = self._instantiate(candidate)
            if not self._known.all_fit(operands, params):
                continue
            node.overloads.append(candidate.id)
            candidate_result = self._known.apply(candidate_result)
            if result is None:
                result = candidate_result
            elif result.kind is not Kind.DYN and candidate_result != result:
                result = DYN
        if result is None:
            self._no_overload(node, operands)
            result = ERROR
        node.type = result

    def _instantiate(self, candidate: Overload) -> tuple[Sequence[CelType], CelType]:
        """Return the signature with fresh type parameters."""
        if not candidate.is_generic:
            return candidate.params, candidate.result
        fresh: dict[str, CelType] = {}

        def renewed(subject: CelType) -> CelType:
            if subject.kind is Kind.PARAM:
                if subject.name not in fresh:
                    fresh[subject.name] = self._known.fresh()
                return fresh[subject.name]
            if not subject.params:
                return subject
            return CelType(subject.kind, subject.name, tuple(map(renewed, subject.params)))

        return [renewed(wanted) for wanted in candidate.params], renewed(candidate.result)

    def _logical(self, node: Call, overload: Overload) -> None:
        node.overloads = [overload.id]
        node.type = BOOL
        for arg in node.args:
            if not self._known.fits(arg.type, BOOL):
                self._mismatch(arg, BOOL, arg.type)
                node.type = ERROR

    def _no_overload(self, node: Call, operands: Sequence[CelType]) -> None:
        shown = [str(self._known.apply(operand, unknown_is_dyn=True)) for operand in operands]
        target = ""
        if node.target is not None:
            target = f"{shown[0]}."
            del shown[0]
        signature = f"{target}({', '.join(shown)})"
        self._report(node, f"found no matching overload for '{node.function}' applied to '{signature}'")

    # Aggregates and folds

    def _aggregate(self, node: Node) -> None:
        match node:
            case ListExpr():
                self._list(node)
            case MapExpr():
                self._map(node)
            case StructExpr():
                self._struct(node)

    def _list(self, node: ListExpr) -> None:
        item: CelType | None = None
        for place, element in enumerate(node.elements):
            checked = node.elements[place] = self._check(element)
            found = self._unwrapped(checked, is_optional=place in node.optional)
            item = self._join(item, found)
        node.type = list_of(item if item is not None else self._known.fresh())

    def _map(self, node: MapExpr) -> None:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            entry.key = self._check(entry.key)
            key = self._join(key, entry.key.type)
            entry.value = self._check(entry.value)
            value = self._join(value, self._unwrapped(entry.value, is_optional=entry.optional))
        if key is None or value is None:
            key, value = self._known.fresh(), self._known.fresh()
        node.type = map_of(key, value)

    def _struct(self, node: StructExpr) -> None:
        known = self._structs(node.name.removeprefix("."))
        if known is None:
            self._undeclared(node, node.name)
            return
        node.type, node.build = known.type, known.build
        for field in node.fields:
            field.value = self._check(field.value)
            given = self._unwrapped(field.value, is_optional=field.optional)
            expected = known.fields.get(field.name)
            if expected is None:
                self.issues.append(Issue(field.offset, f"undefined field '{field.name}'"))
            elif not self._known.fits(expected, given):
                found = self._known.apply(given)
                self.issues.append(
                    Issue(
                        field.offset,
                        f"expected type of field '{field.name}' is '{expected}' but provided type is '{found}'",
                    )
                )

    def _unwrapped(self, node: Node, *, is_optional: bool) -> CelType:
        if not is_optional:
            return node.type
        inner, was_optional = unwrap_optional(node.type)
        if not was_optional and inner.kind is not Kind.DYN:
            self._mismatch(node, optional_of(inner), inner)
        return inner

    def _join(self, previous: CelType | None, current: CelType) -> CelType:
        if previous is None:
            return current
        return most_general(previous, current) if self._known.fits(previous, current) else DYN

    def _comprehension(self, node: Comprehension) -> None:
        node.iter_range = self._check(node.iter_range)
        node.init = self._check(node.init)
        variables = self._variables(node)
        self._scopes.append({node.accumulator: node.init.type})
        self._scopes.append(variables)
        node.condition = self._check(node.condition)
        self._assert(node.condition, BOOL)
        node.step = self._check(node.step)
        self._assert(node.step, node.init.type)
        self._scopes.pop()
        node.result = self._check(node.result)
        self._scopes.pop()
        node.type = self._known.apply(node.result.type)

    def _variables(self, node: Comprehension) -> dict[str, CelType]:
        """Return the types of the loop variables: elements or keys; with two variables, indexes or keys, and values."""
        source = self._known.apply(node.iter_range.type)
        if source.kind is Kind.LIST:
            first, second = (source.params[0], None) if node.iter_var2 is None else (INT, source.params[0])
        elif source.kind is Kind.MAP:
            first, second = source.params
        else:
            first = second = DYN
            if source.kind in _UNKNOWN_RANGE:
                self._known.fits(DYN, source)
            else:
                self._report(
                    node.iter_range,
                    f"expression of type '{source}' cannot be range of a comprehension (must be list, map, or dynamic)",
                )
                first = second = ERROR
        variables = {node.iter_var: first}
        if node.iter_var2 is not None and second is not None:
            variables[node.iter_var2] = second
        return variables

    def _assert(self, node: Node, expected: CelType) -> None:
        if not self._known.fits(expected, node.type):
            self._mismatch(node, expected, node.type)
