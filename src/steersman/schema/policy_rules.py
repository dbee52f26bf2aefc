"""Rules of a class that a CRD cannot hold: they need to know the request, so an admission policy holds them.

A rule in a CRD sees its value (``self``) and the value before (``oldSelf``), and of the metadata only the name. A rule
that uses the request, the whole object, its namespace or the authorizer, or reads labels and other metadata, is written
for a policy instead, with the same meaning for ``self``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.errors import DeclarationError
from steersman.json_types import JsonObject
from steersman.schema.constraints import Rule
from steersman.structural.schema import Schema

if TYPE_CHECKING:
    from steersman.cel.syntax.tree import Node


#: Variables that only a policy has.
BEYOND: Final = frozenset({"request", "object", "oldObject", "namespaceObject", "authorizer"})
#: Words without which a rule need not be read any further: most have none of them.
_HINT: Final = re.compile(rf"\b(?:{'|'.join(sorted(BEYOND))}|metadata)\b")
#: Metadata that a rule in a CRD can read.
_NAMES: Final = frozenset({"name", "generateName"})
_RULES: Final = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule for a policy, and the fields that lead to its value; none of them for the whole object."""

    rule: Rule
    path: tuple[str, ...] = ()


def names_in(expression: str) -> frozenset[str]:
    """Return the names that an expression uses and does not bind itself; empty if it does not parse."""
    return frozenset(name for name, _ in free_names(expression))


def free_names(expression: str) -> Iterator[tuple[str, int]]:
    """Yield each use of a name that an expression does not bind itself, with its place in the text."""
    from steersman.cel.syntax.tree import Comprehension, Ident  # noqa: PLC0415 - as in _nodes

    nodes = _nodes(expression)
    bound = set[str | None]()
    for node in nodes:
        if isinstance(node, Comprehension):
            bound |= {node.iter_var, node.iter_var2, node.accumulator}
    for node in nodes:
        if isinstance(node, Ident) and node.name not in bound:
            yield node.name, node.offset


def _nodes(expression: str) -> "list[Node]":
    """Return every node of an expression; empty if it does not parse, which is reported elsewhere."""
    from steersman.cel.errors import Source  # noqa: PLC0415 - classes without such rules need no parser
    from steersman.cel.syntax.parser import parse  # noqa: PLC0415 - as above
    from steersman.cel.syntax.tree import walk  # noqa: PLC0415 - as above

    root, _ = parse(Source(expression))
    return walk(root) if root is not None else []


def is_for_policy(rule: Rule, *, is_root: bool = True) -> bool:
    """Return whether a rule needs an admission policy; ``is_root`` if it is about whole objects."""
    texts = [text for text in (rule.cel, rule.message_expression) if _HINT.search(text)]
    return any(names_in(text) & BEYOND or (is_root and _reads_metadata(text)) for text in texts)


def _reads_metadata(expression: str) -> bool:
    """Return whether an expression reads more of an object's metadata than a CRD rule can."""
    from steersman.cel.syntax.tree import Ident, Select  # noqa: PLC0415 - classes without such rules need no parser

    return any(
        isinstance(node, Select)
        and node.field not in _NAMES
        and isinstance(node.operand, Select)
        and node.operand.field == "metadata"
        and isinstance(node.operand.operand, Ident)
        and node.operand.operand.name in ("self", "oldSelf")
        for node in _nodes(expression)
    )


def take_policy_rules(schema: Schema) -> list[PlacedRule]:
    """Remove the rules that need a policy from a schema, and return them with their positions."""
    found: list[PlacedRule] = []
    _take(schema, (), found)
    return found


def _take(schema: Schema, path: tuple[str, ...], found: list[PlacedRule]) -> None:
    for entry in list(schema.get(_RULES, ())):
        rule = _rule_of(entry)
        if is_for_policy(rule, is_root=not path):
            if "*" in path:
                where = ".".join(path)
                raise DeclarationError(
                    f"the rule {rule.cel!r} at {where} needs the request, so it cannot stand inside a list or map: "
                    "write it for the whole object, in @custom_resource(rules=[…])"
                )
            schema[_RULES].remove(entry)
            found.append(PlacedRule(rule, path))
    if schema.get(_RULES) == []:
        del schema[_RULES]
    for name, child in schema.get("properties", {}).items():
        _take(child, (*path, name), found)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            _take(schema[keyword], (*path, "*"), found)


def _rule_of(entry: JsonObject) -> Rule:
    return Rule(
        entry["rule"],
        entry.get("message", ""),
        entry.get("fieldPath", ""),
        entry.get("reason"),
        entry.get("messageExpression", ""),
        entry.get("optionalOldSelf", False),
    )


def policy_expression(placed: PlacedRule) -> str:
    """Return a rule as an expression of a policy: the same fields, seen from the whole object.

    As in a CRD, a rule is skipped where there is no value, and one about the old value where there was none.
    """
    rule, guards = placed.rule, list(_presence("object", placed.path))
    names = names_in(rule.cel)
    old = _value("oldObject", placed.path)
    if "oldSelf" in names and not rule.optional_old_self:
        guards += ["oldObject != null", *_presence("oldObject", placed.path)]
    elif rule.optional_old_self:
        there = " && ".join(["oldObject != null", *_presence("oldObject", placed.path)])
        old = f"({there} ? optional.of({old}) : optional.none())"
    written = rewritten(rule.cel, {"self": _value("object", placed.path), "oldSelf": old})
    return f"!({' && '.join(guards)}) || ({written})" if guards else written


def message_expression(placed: PlacedRule) -> str:
    """Write the message of a rule as a policy understands it; empty if it has none that is computed."""
    text = placed.rule.message_expression
    roots = {"self": _value("object", placed.path), "oldSelf": _value("oldObject", placed.path)}
    return rewritten(text, roots) if text else ""


def rewritten(expression: str, names: dict[str, str]) -> str:
    """Return an expression with other text in the place of some names."""
    uses = {(place, name) for name, place in free_names(expression) if name in names}
    for place, name in sorted(uses, reverse=True):
        expression = expression[:place] + names[name] + expression[place + len(name) :]
    return expression


def _value(root: str, path: Sequence[str]) -> str:
    return ".".join([root, *map(_spelled, path)])


def _presence(root: str, path: Sequence[str]) -> Iterator[str]:
    for depth in range(1, len(path) + 1):
        yield f"has({_value(root, path[:depth])})"


def _spelled(name: str) -> str:
    from steersman.cel.syntax.escaping import escape  # noqa: PLC0415 - classes without such rules need no language

    found = escape(name)
    if found is None:
        raise DeclarationError(f"a rule cannot name the field {name!r}")
    return found
