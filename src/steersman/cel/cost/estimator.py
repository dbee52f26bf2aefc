"""What evaluating an expression may cost, estimated from its form and the limits in the schema.

Kubernetes refuses rules by this number, so it is reproduced as it is: also where it is needlessly afraid.
"""

from dataclasses import dataclass, field, replace

from steersman.cel.checking.declarations import Declaration
from steersman.cel.cost.call_estimates import BY_CORE_OVERLOAD, BY_FUNCTION, BY_OVERLOAD, CallEstimate
from steersman.cel.cost.factors import LIST_CREATE, MAP_CREATE, SELECT, STRUCT_CREATE
from steersman.cel.cost.ranges import LIMIT, ONE, UNKNOWN, ZERO, Estimate, exactly
from steersman.cel.syntax.tree import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
)
from steersman.cel.types import CelType, Kind, unwrap_optional

Path = tuple[str, ...]

_READ = exactly(SELECT)
_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_FIELDS = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})
_NOTHING = Estimate(LIMIT, 0)


def estimate_cost(root: Node, declared: Declaration | None) -> int:
    """Return the most that one evaluation of a checked tree can cost."""
    return _Coster(declared).cost(root).most


@dataclass(frozen=True, slots=True)
class _Entries:
    """How large the keys and values of a list or map are."""

    kind: Kind
    key: Estimate
    value: Estimate

    def union(self, other: "_Entries | None") -> "_Entries | None":
        if other is None:
            return None
        return _Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a comprehension."""

    path: Path
    size: Estimate | None
    entries: _Entries | None


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of a call, as the estimates of functions see it."""

    coster: "_Coster"
    node: Node | None
    type: CelType
    path: Path
    known_size: Estimate | None

    def size(self) -> Estimate:
        if self.known_size is not None:
            return self.known_size
        return self.coster.declared_size(self.path) or UNKNOWN

    def element(self) -> "_Operand | None":
        if not self.type.params:
            return None
        path = (*self.path, "@items") if self.path else ()
        return replace(self, node=None, type=self.type.params[0], path=path, known_size=None)


@dataclass(slots=True)
class _Coster:
    declared: Declaration | None
    _paths: dict[int, Path] = field(default_factory=dict)
    _sizes: dict[int, Estimate] = field(default_factory=dict)
    _entries: dict[int, _Entries] = field(default_factory=dict)
    _locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Estimate:
        match node:
            case Literal():
                return ZERO
            case Ident():
                local = self._local(node.name)
                self._paths[id(node)] = local.path if local is not None else (node.name,)
                return _READ
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case Comprehension():
                return self._bind(node) if node.is_bind else self._fold(node)
            case _:
                return self._aggregate(node)

    # Sizes and paths

    def declared_size(self, path: Path) -> Estimate | None:
        """Return the size that the schema declares at a path; its first part counts as the root, whatever it is."""
        if not path or self.declared is None:
            return None
        current: Declaration | None = self.declared
        for name in path[1:]:
            if current is None:
                return None
            if name in ("@items", "@values"):
                current = current.items
            elif name == "@keys":
                current = current.keys
            else:
                current = current.fields.get(name)
        return None if current is None else Estimate(0, current.max_elements)

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.path
        return self._paths.get(id(node), ())

    def _size(self, node: Node) -> Estimate | None:
        known = self._sizes.get(id(node))
        if known is None:
            known = _literal_size(node)
        if known is not None:
            return known
        declared = self.declared_size(self._path(node))
        if declared is not None:
            self._sizes[id(node)] = declared
            return declared
        if _is_scalar(node.type):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def _size_or_unknown(self, node: Node) -> Estimate:
        return self._size(node) or UNKNOWN

    def _entries_of(self, node: Node) -> _Entries | None:
        known = self._entries.get(id(node))
        if known is None and isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.entries
        return known

    def _operand(self, node: Node) -> _Operand:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        return _Operand(self, node, node.type, path, self._size(node))

    # Nodes

    def _select(self, node: Select) -> Estimate:
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost.plus(_READ) if node.operand.type.kind in _FIELDS else cost

    def _call(self, node: Call) -> Estimate:
        if node.function == "dyn":
            return self._dyn(node)
        costs: list[Estimate] = []
        for arg in node.args:  # not a comprehension, which would take room on the stack
            costs.append(self.cost(arg))  # noqa: PERF401 - see above
        if not node.overloads:
            return ZERO
        total = ZERO if node.target is None else self.cost(node.target)
        operands = [self._operand(operand) for operand in node.operands]
        cost = _NOTHING
        result: Estimate | None = None
        for overload in node.overloads:
            one = self._overload(node, overload, operands, costs)
            cost = cost.union(one.cost)
            if one.result is not None:
                result = one.result if result is None else result.union(one.result)
            result = self._indexed(node, overload, result)
            if result is None:
                result = self._size(node)
        if result is not None:
            self._sizes[id(node)] = result
        return total.plus(cost)

    def _dyn(self, node: Call) -> Estimate:
        arg = node.args[0]
        cost = ONE.plus(self.cost(arg))
        self._copy_sizes(node, arg)
        return cost

    def _indexed(self, node: Call, overload: str, result: Estimate | None) -> Estimate | None:
        """Return the estimate of an element at an index."""
        step = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if step is None:
            return result
        self._paths[id(node)] = (*self._path(node.args[0]), step)
        entries = self._entries_of(node.args[0])
        return None if entries is None else entries.value

    def _overload(self, node: Call, overload: str, operands: list[_Operand], costs: list[Estimate]) -> CallEstimate:
        arguments = ZERO
        for cost in costs:
            arguments = arguments.plus(cost)
        for table, key in ((BY_OVERLOAD, overload), (BY_FUNCTION, node.function)):
            estimator = table.get(key)
            estimate = estimator(operands) if estimator is not None else None
            if estimate is not None:
                return CallEstimate(estimate.cost.plus(arguments), estimate.result)
        if overload in ("logical_and", "logical_or"):
            return CallEstimate(Estimate(costs[0].least, costs[0].plus(costs[1]).most))
        if overload == "conditional":
            return self._conditional(node, costs)
        if overload in ("add_string", "add_bytes", "add_list"):
            self._join_entries(node)
        core = BY_CORE_OVERLOAD.get(overload)
        estimate = core(operands) if core is not None else None
        if estimate is None:
            return CallEstimate(ONE.plus(arguments))
        return CallEstimate(estimate.cost.plus(arguments), estimate.result)

    def _conditional(self, node: Call, costs: list[Estimate]) -> CallEstimate:
        _, then, otherwise = node.args
        entries = self._entries_of(then)
        joined = None if entries is None else entries.union(self._entries_of(otherwise))
        if joined is not None:
            self._entries[id(node)] = joined
        size = self._size_or_unknown(then).union(self._size_or_unknown(otherwise))
        return CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)

    def _join_entries(self, node: Call) -> None:
        entries = self._entries_of(node.args[0])
        joined = None if entries is None else entries.union(self._entries_of(node.args[1]))
        if joined is not None:
            self._entries[id(node)] = joined

    def _aggregate(self, node: Node) -> Estimate:
        match node:
            case ListExpr():
                total, size = self._all(node.elements)
                self._entries[id(node)] = _Entries(Kind.LIST, ONE, size)
                return total.plus(exactly(LIST_CREATE))
            case MapExpr():
                keys, key_size = self._all([entry.key for entry in node.entries])
                values, value_size = self._all([entry.value for entry in node.entries])
                self._entries[id(node)] = _Entries(Kind.MAP, key_size, value_size)
                return keys.plus(values).plus(exactly(MAP_CREATE))
            case StructExpr():
                return self._all(node.values)[0].plus(exactly(STRUCT_CREATE))
            case _:
                return ZERO

    def _all(self, nodes: list[Node]) -> tuple[Estimate, Estimate]:
        """Return the cost of all and the size of any."""
        total = ZERO
        size = _NOTHING if nodes else ZERO
        for node in nodes:
            total = total.plus(self.cost(node))
            size = size.union(self._size_or_unknown(node))
        return total, size

    # Comprehensions

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _pop(self, name: str) -> None:
        self._locals[name].pop()

    def _push_value(self, name: str, node: Node) -> None:
        self._push(name, _Local(self._path(node), self._size(node), self._entries_of(node)))

    def _push_variables(self, node: Comprehension) -> None:
        source = node.iter_range
        entries = self._entries_of(source)
        kind = entries.kind if entries is not None else source.type.kind
        path = self._path(source)
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        is_list = kind is Kind.LIST
        keys = _Local((*path, "@indices" if is_list else "@keys"), key, None)
        values = _Local((*path, "@items" if is_list else "@values"), value, None)
        if node.iter_var2 is None:
            self._push(node.iter_var, values if is_list else keys)
        else:
            self._push(node.iter_var, keys)
            self._push(node.iter_var2, values)

    def _fold(self, node: Comprehension) -> Estimate:
        total = self.cost(node.iter_range).plus(self.cost(node.init))
        self._push_value(node.accumulator, node.init)
        self._push_variables(node)
        each = self.cost(node.condition)
        each = each.plus(self.cost(node.step))
        self._pop(node.iter_var)
        if node.iter_var2 is not None:
            self._pop(node.iter_var2)
        total = total.plus(self.cost(node.result))
        self._pop(node.accumulator)
        length = self._size_or_unknown(node.iter_range)
        self._size_fold(node, length)
        return total.plus(length.times(each))

    def _size_fold(self, node: Comprehension, length: Estimate) -> None:
        if isinstance(node.init, Literal):
            size = self._size(node.init)
            if size is not None:
                self._sizes[id(node)] = size
        elif isinstance(node.init, ListExpr | MapExpr):
            self._sizes[id(node)] = length
            entries = self._entries_of(node.step)
            if entries is not None:
                self._entries[id(node)] = entries

    def _bind(self, node: Comprehension) -> Estimate:
        total = self.cost(node.iter_range).plus(self.cost(node.init))
        self._push_value(node.accumulator, node.init)
        total = total.plus(self.cost(node.result))
        self._pop(node.accumulator)
        self._copy_sizes(node, node.result)
        return total

    def _copy_sizes(self, target: Node, source: Node) -> None:
        size, entries = self._size(source), self._entries_of(source)
        if size is not None:
            self._sizes[id(target)] = size
        if entries is not None:
            self._entries[id(target)] = entries


def _literal_size(node: Node) -> Estimate | None:
    match node:
        case Literal():
            sized = node.value.__class__ in (str, bytes)
            return exactly(len(node.value)) if sized else ONE
        case ListExpr():
            return exactly(len(node.elements))
        case MapExpr():
            return exactly(len(node.entries))
        case _:
            return None


def _is_scalar(kind: CelType) -> bool:
    inner, _ = unwrap_optional(kind)
    return inner.kind in _SCALARS
