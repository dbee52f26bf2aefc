"""The cost of rules: estimated beforehand, and counted while they run."""

from typing import Any

import pytest

from steersman.cel import Budget
from steersman.cel.cost.metering import Meter
from steersman.json_types import ABSENT
from steersman.structural.cel_rules import RuleCost, compile_rules, total_cost_errors

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "free": {"type": "string"},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "open": {"type": "array", "items": {"type": "string"}},
        "m": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "integer"}},
        "o": {"type": "object", "properties": {"x": {"type": "string", "maxLength": 25}}},
    },
}
_VALUE = {"n": 2, "s": "0123456789", "l": [1, 2, 3], "m": {"a": 1, "b": 2}, "o": {}}


def _rule(text: str, *, cardinality: int | None = 1) -> Any:
    return compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": text}]}, max_cardinality=cardinality)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("true", 0),
        ("self.n == 2", 3),  # the variable, the field, the comparison
        ("has(self.n)", 1),  # only the variable
        ("has(self.n) && self.n > 1", 4),
        ("has(self.zz.x) || true", None),  # does not compile
        ("self.s == '0123456789'", 3),  # a comparison reads a tenth of the shorter text
        ("self.s + self.s != ''", 6),  # twice two, two tenths of twenty characters, and nothing to compare
        ("self.n in [1, 2, 3]", 2),  # a constant list costs nothing
        ("self.n in self.l", 7),  # one for each of three elements
        (
            "self.l.all(x, x > 0)",
            18,
        ),  # per element two for the loop, one for the result and two for x > 0
        ("self.l.exists(x, x > 1)", 18),  # two elements at six, one more step, one for the result
        ("self.l.map(x, x).size() == 3", 44),  # per element twelve to add and one to read; ten for the empty list
        ("self.l.filter(x, x > 1).size() == 2", 37),  # three predicates at two, two elements at thirteen
        ("self.m.all(k, self.m[k] > 0)", 17),
        ("self.n > 1 ? true : self.s == ''", 3),  # the other branch is free
        ("self.o.?x.orValue('') == ''", 2),  # an absent field costs nothing
        ("[self.n, 1].size() == 2", 14),  # ten for creating a list
        ("{'a': self.n}.a == 2", 34),  # thirty for creating a map
        ("self.l.sort() == [1, 2, 3]", 32),  # twice the square, and a new list
        ("self.s.matches('^[0-9]+$')", 6),  # two tenths of the text times two quarters of the pattern
        ("quantity(self.s).isInteger()", 4),
    ],
)
def test_actual_costs_are_counted_as_by_kubernetes(text: str, cost: int | None) -> None:
    """The limits of a cluster hold here only if the same rule costs the same."""
    compiled = _rule(text)
    if cost is None:
        assert compiled.errors != []
        return
    (rule,) = compiled.rules
    meter = Meter()
    assert rule.program.evaluate(*rule.values(_VALUE, ABSENT), meter=meter) is True
    assert meter.cost == cost


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("true", 0),
        ("self.n == 2", 2),  # integers have no size
        ("self.s == 'a'", 3),
        ("self.s == self.o.x", 9),  # forty bytes at most, of which a tenth
        ("self.l.all(x, x > 0)", 53),  # ten elements at five
        ("self.l.all(x, self.l.all(y, x > y))", 663),  # ten elements, for each of which sixty-three for the inner loop
        ("self.free.contains(self.free)", 98_956_172_333),  # a request has at most three megabytes
        ("self.open.all(x, x == 'a')", 5_242_878),  # a million strings fit into a request
        ("string(self.n) == 'a'", 4),
        ("self.s.startsWith('abc')", 3),
        ("type(self.n) == int", 4),
        ("optional.of('a') != optional.none()", 1_844_674_407_370_955_266),  # an overestimate, but that of Kubernetes
    ],
)
def test_estimates_are_those_of_kubernetes(text: str, cost: int) -> None:
    """A rule that a cluster accepts or rejects must be accepted or rejected here."""
    (rule,) = _rule(text).rules
    assert rule.program.estimated_cost == cost


def test_an_estimate_counts_every_occurrence_of_a_node() -> None:
    """A rule on the items of a list runs once for each of them."""
    assert _rule("self.n == 2", cardinality=50).estimated_cost == 100
    assert _rule("self.n == 2", cardinality=None).estimated_cost == 2 * (3 * 1024 * 1024 // 3)


def test_a_whole_crd_has_its_own_limit() -> None:
    """Rules that are acceptable one by one may be too expensive together; the worst are named."""
    costs = [RuleCost(f".properties[{number}]", 9_000_000 + number) for number in range(12)]
    assert total_cost_errors(costs[:11]) == []
    errors = total_cost_errors(costs)
    assert [error.field for error in errors] == [
        ".properties[11]",
        ".properties[10]",
        ".properties[9]",
        ".properties[8]",
        "",
    ]
    assert errors[-1].message.startswith(
        "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by "
        "factor of 1.080001x (try"
    )


def test_the_message_of_a_rule_uses_the_same_budget() -> None:
    """An expensive message ends the validation as an expensive rule does."""
    schema = {
        "type": "string",
        "maxLength": 100_000,
        "x-kubernetes-validations": [{"rule": "self == ''", "messageExpression": "'got ' + self"}],
    }
    rules = compile_rules(schema)
    assert rules.errors == []
    budget = Budget(1_000)
    (failure,) = rules.check("x" * 100_000, budget=budget)
    assert "messageExpression evaluation failed due to running out of cost budget" in failure.message
    assert budget.is_exhausted


def test_an_option_for_old_values_needs_a_rule_that_uses_them() -> None:
    """Kubernetes rejects the option where it has no meaning."""
    schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "optionalOldSelf": True}]}
    (error,) = compile_rules(schema).errors
    assert error.field == ".x-kubernetes-validations[0].optionalOldSelf"
    assert error.message == "Invalid value: true: may not be set if oldSelf is not used in rule"
