"""Replays recorded cases: walks a schema and its values as an API server does, and lists the causes it finds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from steersman.cel import Budget
from steersman.json_types import ABSENT
from steersman.structural.cel_rules import CompiledRules, RuleCost, compile_rules, total_cost_errors

Cause = tuple[str, str, str]
_RULES = "x-kubernetes-validations"


def schema_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Append the rule of the case to the rules of its schema."""
    named = {
        "rule": "rule",
        "ruleMessage": "message",
        "messageExpression": "messageExpression",
        "ruleReason": "reason",
        "fieldPath": "fieldPath",
        "optionalOldSelf": "optionalOldSelf",
    }
    rule = {target: case[source] for source, target in named.items() if source in case}
    return {**case["schema"], _RULES: [*case["schema"].get(_RULES, []), rule]}


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], int | None]]:
    """Yield every schema below a node: the next step of the path, the schema, and how often it may occur."""
    for name, prop in schema.get("properties", {}).items():
        yield f".properties[{name}]", prop, 1
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield ".additionalProperties", schema["additionalProperties"], schema.get("maxProperties")
    if schema.get("items") is not None:
        yield ".items", schema["items"], schema.get("maxItems")


class Compiled:
    """A schema node with its rules and the nodes below it."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        cardinality: int | None = 1,
        *,
        is_root: bool = False,
        uncorrelatable: str | None = None,
        place: str = "spec.validation.openAPIV3Schema.properties[spec].properties[p]",
    ) -> None:
        self.schema = schema
        self.rules: CompiledRules | None = None
        if schema.get(_RULES):
            self.rules = compile_rules(
                schema, max_cardinality=cardinality, is_root=is_root, uncorrelatable=uncorrelatable
            )
        self.children: dict[str, Compiled] = {}
        for step, child, often in _children(schema):
            total = None if cardinality is None or often is None else cardinality * often
            beyond = uncorrelatable
            if step == ".items" and schema.get("x-kubernetes-list-type") != "map":
                beyond = beyond or place
            self.children[step] = Compiled(child, total, uncorrelatable=beyond, place=place + step)

    def _each(self, path: str = "") -> Iterator[tuple[str, CompiledRules]]:
        if self.rules is not None:
            yield path, self.rules
        for step, child in self.children.items():
            yield from child._each(path + step)

    def causes(self) -> list[Cause]:
        """Return the errors of an API server about the schema."""
        found: list[Cause] = []
        costs: list[RuleCost] = []
        for path, rules in self._each():
            found += [(path + error.field, error.message, error.reason) for error in rules.errors]
            costs += [RuleCost(path + one.field, one.cost) for one in rules.costs]
        found += [(one.field, one.message, one.reason) for one in total_cost_errors(costs) if one.field]
        return found

    def check(self, value: Any, old: Any, budget: Budget, path: str = "") -> list[Cause]:
        """Return the errors of an API server about a value."""
        if value is None or budget.is_exhausted:
            return []
        found: list[Cause] = []
        if self.rules is not None:
            for failure in self.rules.check(value, ABSENT if old is None else old, budget=budget):
                if failure.can_ratchet and old is not None and old == value:
                    continue
                found.append((path + failure.field, failure.message, failure.reason))
        if isinstance(value, dict):
            found += self._check_object(value, old if isinstance(old, dict) else {}, budget, path)
        elif isinstance(value, list) and ".items" in self.children:
            for place, item in enumerate(value):
                earlier = _correlated(self.schema, item, old)
                found += self.children[".items"].check(item, earlier, budget, f"{path}[{place}]")
        return found

    def _check_object(self, value: dict[str, Any], old: dict[str, Any], budget: Budget, path: str) -> list[Cause]:
        found: list[Cause] = []
        for key, item in value.items():
            if (child := self.children.get(f".properties[{key}]")) is not None:
                found += child.check(item, old.get(key), budget, f"{path}.{key}")
            elif (child := self.children.get(".additionalProperties")) is not None:
                found += child.check(item, old.get(key), budget, f"{path}[{key}]")
        return found


def _correlated(schema: Mapping[str, Any], item: Any, old: Any) -> Any:
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return None
    keys = schema["x-kubernetes-list-map-keys"]
    return next((one for one in old if [one.get(k) for k in keys] == [item.get(k) for k in keys]), None)


def _defaulted(schema: Mapping[str, Any], value: Any) -> Any:
    """Set the defaults that an API server sets before rules run."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        defaults = {name: prop["default"] for name, prop in properties.items() if "default" in prop}
        return {key: _defaulted(properties.get(key, {}), item) for key, item in {**defaults, **value}.items()}
    if isinstance(value, list):
        return [_defaulted(schema.get("items", {}), item) for item in value]
    return value


#: The parts of the recorded objects of root cases that the cases do not show.
_ROOT = {"apiVersion": "root.example.com/v1", "kind": "Root"}


def replay(case: Mapping[str, Any]) -> Counter[Cause]:
    """Return the causes that the case produces here."""
    at_root = case.get("level") == "root"
    compiled = Compiled(schema_of(case), is_root=at_root)
    causes = compiled.causes()
    if causes:
        prefix = "spec.validation.openAPIV3Schema" if at_root else ""
        return Counter((prefix + field, message, reason) for field, message, reason in causes)
    if "value" not in case:
        return Counter()
    value, old = (_defaulted(case["schema"], case.get(name)) for name in ("value", "old"))
    if at_root:
        value, old = {**_ROOT, **value}, None if old is None else {**_ROOT, **old}
    found = compiled.check(value, old, Budget())
    if at_root:
        found = [(field.removeprefix(".") or "<nil>", message, reason) for field, message, reason in found]
    return Counter(found)


def expected(case: Mapping[str, Any]) -> Counter[Cause]:
    """Return the recorded causes."""
    if case["result"] == "valid":
        return Counter()
    causes = [case, *case.get("more", [])]
    return Counter((cause["field"], cause["message"], cause["reason"]) for cause in causes)
