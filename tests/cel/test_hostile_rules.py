"""Hostile rules and values: bounded time, a clear answer, never a crash."""

import sys
from typing import Any

import pytest

from steersman.cel import Budget, ExpressionError, compile_expression
from steersman.cel.types import STRING, list_of
from steersman.structural.cel_rules import CompiledRules, compile_rules

_INTEGERS = {"type": "array", "items": {"type": "integer"}, "maxItems": 100_000}
_TEXT = {"type": "string"}


def _compiled(rule: str, schema: dict[str, Any]) -> CompiledRules:
    return compile_rules({**schema, "x-kubernetes-validations": [{"rule": rule}]})


_DEEP = {
    "parentheses": "(" * 10_000 + "1" + ")" * 10_000,
    "lists": "[" * 10_000 + "]" * 10_000,
    "maps": "{'a':" * 10_000 + "1" + "}" * 10_000,
    "calls": "size(" * 10_000 + "'a'" + ")" * 10_000,
    "indexes": "self" + "[0]" * 10_000,
    "fields": "self" + ".a" * 10_000,
    "sums": "1" + " + 1" * 10_000,
    "conditionals": "true ? 1 : " * 5_000 + "1",
    "conditions": "(" * 5_000 + "true" + " ? 1 : 2)" * 5_000,
    "macros": "[1].all(x, " * 2_000 + "true" + ")" * 2_000,
    "unclosed": "(" * 10_000,
}


@pytest.mark.parametrize("form", _DEEP)
def test_ten_thousand_levels_are_rejected_without_recursion(form: str) -> None:
    """No expression can exhaust the stack: depth is limited before the tree is walked."""
    text = _DEEP[form]
    (error,) = _compiled(text, _TEXT).errors
    assert "recursion limit exceeded: 250" in error.message


def test_a_deep_stack_of_the_caller_causes_no_recursion_error() -> None:
    """Compiling reports an issue even if little of the stack is left."""

    def deep(levels: int) -> list[str]:
        if levels:
            return deep(levels - 1)
        return [error.message for error in _compiled("(" * 200 + "true" + ")" * 200, _TEXT).errors]

    levels = sys.getrecursionlimit() - 400
    assert all("recursion limit exceeded" in message for message in deep(levels))


@pytest.mark.parametrize(
    "rule",
    ["true ? true : " * 200 + "true", "(" * 200 + "true" + ")" * 200, "1" + " + 1" * 200 + " > 0"],
)
def test_two_hundred_levels_are_accepted(rule: str) -> None:
    """The limit is far above what a person writes, and everything below it works."""
    rules = _compiled(rule, _TEXT)
    assert rules.errors == []
    assert rules.check("a", budget=Budget()) == []


@pytest.mark.parametrize(
    "rule",
    [
        "&&".join(["f(1)"] * 16_000),
        "#" * 99_000,
        "[" + ",".join(["[]"] * 30_000) + "].size() > 0",
        "[" + ",".join(["[1, [2]]"] * 10_000) + "].size() > 0",
    ],
)
def test_a_rule_full_of_errors_has_a_short_answer(rule: str) -> None:
    """Each error quotes its line: a hundred thousand errors in a line of that length would fill the memory."""
    for error in _compiled(rule, _TEXT).errors:
        assert "more errors were truncated" in error.message
        assert len(error.message) < 1_000_000


def test_a_thousand_alternatives_are_not_deep() -> None:
    """Long chains of && and || are common: they are balanced, not nested."""
    rule = " || ".join(f"self == 'v{number}'" for number in range(1_000))
    rules = _compiled(rule, {"type": "string", "maxLength": 10})
    assert rules.errors == []
    assert rules.check("v999", budget=Budget()) == []
    assert len(rules.check("v1000", budget=Budget())) == 1


def test_any_number_of_signs_is_counted_and_not_nested() -> None:
    """Ten thousand exclamation marks are one operator or none."""
    assert _compiled("!" * 10_000 + "true", _TEXT).errors == []


def test_a_rule_that_is_too_long_is_rejected_unparsed() -> None:
    """The size of an expression is limited to 100,000 characters."""
    (error,) = _compiled("true" + " " * 100_000, _TEXT).errors
    assert "expression code point size exceeds limit: size: 100004, limit 100000" in error.message


def test_chained_optional_maps_do_not_double_without_limit() -> None:
    """Each such macro duplicates its target: a hundred of them would need 2^100 nodes."""
    rule = "optional.of(1)" + ".optMap(x, x)" * 100 + ".hasValue()"
    (error,) = _compiled(rule, _TEXT).errors
    assert "optMap() target is too large" in error.message


def test_numbers_with_a_million_digits_are_not_parsed() -> None:
    """Python rejects the conversion of huge texts and takes quadratic time near its limit."""
    (error,) = _compiled("1" * 90_000 + " > 1", _TEXT).errors
    assert "invalid int literal" in error.message
    rules = _compiled("int(self) > 1", _TEXT)
    (failure,) = rules.check("9" * 1_000_000, budget=Budget())
    assert "type conversion error from 'string' to 'int'" in failure.message


def test_nested_loops_end_at_the_cost_limit() -> None:
    """A rule whose estimate is far too high can still be evaluated, and stops."""
    rules = _compiled("self.all(x, self.all(y, self.all(z, x + y + z >= 0)))", _INTEGERS)
    assert rules.errors[0].reason == "FieldValueForbidden"
    budget = Budget()
    (failure,) = rules.check(list(range(100_000)), budget=budget)
    assert "operation cancelled: actual cost limit exceeded" in failure.message
    assert budget.is_exhausted


def test_an_exhausted_budget_stops_all_further_rules() -> None:
    """One object has one budget; the rules after an expensive one do not run."""
    rules = compile_rules({**_TEXT, "x-kubernetes-validations": [{"rule": "self == 'a'"}, {"rule": "self == 'b'"}]})
    (failure,) = rules.check("c", budget=Budget(0))
    assert failure.message == (
        'Invalid value: "string": validation failed due to running out of cost budget, no further validation rules '
        "will be run"
    )


@pytest.mark.parametrize(
    "rule",
    [
        "self.map(x, self) == self.map(x, oldSelf)",
        "oldSelf in self.map(x, self)",
        "self.map(x, self).flatten().size() > 0",
        "sets.intersects(self.map(x, self), self.map(x, oldSelf))",
        "'%s'.format([self.map(x, self)]).size() > 0",
        "self.map(x, self).distinct().size() > 0",
    ],
)
def test_lists_that_share_a_long_list_are_not_compared(rule: str) -> None:
    """A list of many references to one long list is cheap to create and would take minutes to compare."""
    rules = _compiled(rule, _INTEGERS)
    values = list(range(20_000))
    (failure,) = rules.check(values, [*values[:-1], -1], budget=Budget())
    assert "operation cancelled: actual cost limit exceeded" in failure.message


@pytest.mark.parametrize(
    "rule",
    [
        "self.replace('', self).size() > 0",
        "self.split('').join(self).size() > 0",
        "'%.999999999f'.format([1.0]).size() > 0",
        "lists.range(1000000000).size() > 0",
        "quantity('1e999999999').compareTo(quantity('1')) == 1",
        "quantity('1e999999999').add(quantity('1')).isGreaterThan(quantity('1'))",
        "self.matches('(a+)+$')",
        "self.matches('^(a|a)*$')",
        "self.find('(a*)*b') == ''",
        "semver('1.2.' + self).major() == 1",
        "isIP(self) || isCIDR(self) || isURL(self) || isQuantity(self)",
        "!format.dns1123Subdomain().validate(self).hasValue()",
    ],
)
def test_a_megabyte_of_text_is_handled_at_once(rule: str) -> None:
    """Nothing is built that exceeds the budget, and no pattern backtracks."""
    rules = _compiled(rule, _TEXT)
    for failure in rules.check("a" * 1_000_000 + "!", budget=Budget()):
        assert failure.message.startswith("Invalid value")


def test_hostile_patterns_are_linear_in_generated_code_too() -> None:
    """Python's own engine is used only for patterns that cannot backtrack far, on short texts."""
    for pattern in ("^(a+)+$", "^(a|aa)+$", "^([a-z]+)*[0-9]$", "(x+x+)+y"):
        rules = _compiled(f"self.matches('{pattern}')", {"type": "string", "maxLength": 300})
        rules.check("a" * 250 + "!", budget=Budget())
        rules.check("x" * 250, budget=Budget())


def test_deeply_nested_unknown_data_is_compared_or_rejected() -> None:
    """Data without a schema may be nested without limit; comparing it must not crash."""
    schema = {
        "type": "object",
        "properties": {"raw": {"x-kubernetes-preserve-unknown-fields": True}},
    }
    rules = compile_rules({**schema, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]})

    def nested() -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(10_000):
            value = {"a": value}
        return {"raw": value}

    for failure in rules.check(nested(), nested(), budget=Budget()):
        assert "recursion limit exceeded" in failure.message


def test_an_endless_schema_is_rejected() -> None:
    """Ten thousand levels of schema are an error of the rule, not of the program."""
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(10_000):
        schema = {"type": "array", "items": schema}
    (error,) = _compiled("true", schema).errors
    assert error.reason == "InternalError"


def test_expressions_outside_of_schemas_are_limited_as_well() -> None:
    """Match conditions come from users, too."""
    with pytest.raises(ExpressionError, match="recursion limit exceeded"):
        compile_expression("(" * 10_000, {"self": list_of(STRING)})
