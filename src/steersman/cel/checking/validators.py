"""Checks beyond types before an expression may run: literals that cannot work, mixed lists and maps."""

from collections.abc import Iterator

from steersman.cel.errors import EvaluationError, Issue
from steersman.cel.evaluation.formatting import check_format
from steersman.cel.library import PATCH_FUNCTIONS
from steersman.cel.library.regex import compiled
from steersman.cel.syntax.tree import Call, ListExpr, Literal, MapExpr, Node, children
from steersman.cel.types import CelType, unwrap_optional


def validate(root: Node) -> list[Issue]:
    """Return every such problem in a checked tree."""
    issues: list[Issue] = []
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, exempt = pending.pop()
        issues.extend(_node_issues(node, exempt=exempt))
        inside = exempt or (isinstance(node, Call) and node.function == "format")
        pending.extend((child, inside) for child in children(node))
    return issues


def _node_issues(node: Node, *, exempt: bool) -> Iterator[Issue]:
    if isinstance(node, Call):
        yield from _literal_argument(node)
        yield from _format_call(node)
    elif isinstance(node, ListExpr) and not exempt:
        yield from _mixed_list(node)
    elif isinstance(node, MapExpr) and not exempt:
        yield from _mixed_map(node)


def _literal_argument(call: Call) -> Iterator[Issue]:
    if not call.args or not isinstance(call.args[0], Literal):
        return
    value = call.args[0].value
    try:
        if call.function in ("duration", "timestamp") and call.overloads:
            PATCH_FUNCTIONS.by_id[call.overloads[0]].run(value)
        elif call.function == "matches":
            compiled(value)
    except EvaluationError:
        yield Issue(call.args[0].offset, f"invalid {call.function} argument")


def _format_call(call: Call) -> Iterator[Issue]:
    if call.function != "format" or not isinstance(call.target, Literal) or len(call.args) != 1:
        return
    arguments = call.args[0]
    if not isinstance(arguments, ListExpr):
        return
    wrong = check_format(call, call.target.value, arguments.elements)
    if wrong is not None:
        yield Issue(wrong[0].offset, wrong[1])


def _mismatch(node: Node, expected: CelType, found: CelType) -> Issue:
    return Issue(node.offset, f"expected type '{expected}' but found '{found}'")


def _mixed_list(node: ListExpr) -> Iterator[Issue]:
    expected: CelType | None = None
    for place, element in enumerate(node.elements):
        found = unwrap_optional(element.type)[0] if place in node.optional else element.type
        if expected is None:
            expected = found
        elif found != expected:
            yield _mismatch(element, expected, found)
            return


def _mixed_map(node: MapExpr) -> Iterator[Issue]:
    expected: tuple[CelType, CelType] | None = None
    for entry in node.entries:
        value = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if expected is None:
            expected = (entry.key.type, value)
            continue
        if entry.key.type != expected[0]:
            yield _mismatch(entry.key, expected[0], entry.key.type)
        if value != expected[1]:
            yield _mismatch(entry.value, expected[1], value)
