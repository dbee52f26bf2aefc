"""Generated code compared with the interpreter, on generated rules and objects."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cel import Budget, EvaluationError
from steersman.cel.evaluation.fast_helpers import Undecided
from steersman.json_types import ABSENT
from steersman.structural.cel_rules import compile_rules
from steersman.structural.cel_rules.rules import Rule

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "m": {"type": "integer", "nullable": True},
        "d": {"type": "number"},
        "s": {"type": "string", "maxLength": 20},
        "b": {"type": "boolean"},
        "o": {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 9}}},
        "l": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
        "t": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}},
        "e": {
            "type": "array",
            "maxItems": 4,
            "items": {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}},
        },
        "k": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "string", "maxLength": 9}},
    },
}
_numbers = st.integers(-3, 3) | st.sampled_from([(1 << 63) - 1, -(1 << 63)])
_texts = st.sampled_from(["", "a", "ab", "abc", "1Gi", "é"])
_objects = st.fixed_dictionaries(
    {},
    optional={
        "n": _numbers,
        "m": _numbers | st.none(),
        "d": st.integers(-2, 2) | st.sampled_from([0.5, 1.0]),
        "s": _texts,
        "b": st.booleans(),
        "o": st.fixed_dictionaries({}, optional={"n": _numbers, "s": _texts}),
        "l": st.lists(_numbers, max_size=7),
        "t": st.lists(_texts, max_size=5),
        "e": st.lists(st.fixed_dictionaries({}, optional={"n": _numbers, "s": _texts}), max_size=4),
        "k": st.dictionaries(_texts, _texts, max_size=3),
    },
)
_ints = st.sampled_from(
    [
        "self.n",
        "self.m",
        "self.o.n",
        "self.l[0]",
        "self.e[1].n",
        "size(self.s)",
        "self.l.size()",
        "self.k.size()",
        "self.?n.orValue(2)",
        "oldSelf.n",
        "2",
        "-1",
        "self.l.filter(x, x > 0).size()",
        "self.l.map(x, x * 2).sum()",
        "self.e.map(x, x.n).max()",
    ]
)
_strings = st.sampled_from(["self.s", "self.o.s", "'ab'", "self.t[0]", "self.k['a']", "self.k.ab", "self.t.join('')"])
_int_expressions = st.recursive(
    _ints,
    lambda inner: st.builds(
        lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner
    ),
    max_leaves=3,
)
_atoms = st.one_of(
    st.builds(
        lambda a, op, b: f"({a} {op} {b})",
        _int_expressions,
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        _int_expressions,
    ),
    st.builds(lambda a, op, b: f"({a} {op} {b})", _strings, st.sampled_from(["==", "!=", "<"]), _strings),
    st.builds(lambda a, f, b: f"{a}.{f}({b})", _strings, st.sampled_from(["contains", "startsWith"]), _strings),
    st.sampled_from(
        [
            "self.b",
            "has(self.n)",
            "has(self.m)",
            "has(self.o.n)",
            "has(self.k.a)",
            "self == oldSelf",
            "self.o == oldSelf.o",
            "self.l != oldSelf.l",
            "self.k == oldSelf.k",
            "self.d > 0.5",
            "self.d == 1.0",
            "self.s in ['a', 'ab']",
            "self.n in [1, 2]",
            "self.s in self.t",
            "self.s in self.k",
            "self.s.matches('^a[a-z]*$')",
            "quantity(self.s).isGreaterThan(quantity('1Mi'))",
            "self.?o.hasValue()",
            "self.e.all(x, x.n > 0)",
            "self.e.exists(x, x.s == self.s)",
            "self.e.exists_one(x, x.n == self.n)",
            "self.k.all(k, self.k[k] != '')",
            "self.k.exists(k, v, k == v)",
            "self.t.all(i, v, v.size() > i)",
            "self.t.all(x, self.t.exists_one(y, x == y))",
            "self.s.split('').all(x, x in ['a', 'b'])",
            "self.l == [1, 2]",
            "self.t.isSorted()",
        ]
    ),
)
_rules = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(["&&", "||"]), inner),
        st.builds(lambda a: f"!({a})", inner),
        st.builds(lambda a, b, c: f"({a} ? {b} : {c})", inner, inner, inner),
    ),
    max_leaves=4,
)


def _exactly(rule: Rule, value: Any, old: Any) -> Any:
    try:
        return rule.program.evaluate(*rule.values(value, old))
    except EvaluationError:
        return None


@settings(max_examples=200, deadline=None)
@given(_rules, st.lists(st.tuples(_objects, _objects), min_size=1, max_size=8))
def test_generated_code_agrees_with_the_interpreter_or_defers_to_it(text: str, pairs: list[tuple[Any, Any]]) -> None:
    """Missing fields, nulls, overflow, long lists: generated code detects whatever it cannot decide."""
    compiled = compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": text}]})
    assert all(error.reason == "FieldValueForbidden" for error in compiled.errors)
    (rule,) = compiled.rules
    if rule.fast is None:
        return
    for value, old in pairs:
        try:
            quick = rule.fast(value, old)
        except Exception:  # noqa: BLE001, S112 - whatever stops generated code means: ask the interpreter
            continue
        assert quick is _exactly(rule, value, old)


#: Values that do not fit their schema: what was stored before a definition gave a field another type.
_misfits = st.sampled_from([None, True, 1, 1.5, "", "abc", [], ["a"], [1, "a"], {}, {"n": "a"}, {"a": 1, "ab": None}])
_objects_with_misfits = st.builds(
    lambda value, more: {**value, **more},
    _objects,
    st.dictionaries(st.sampled_from(sorted(_SCHEMA["properties"])), _misfits, min_size=4),
)


@settings(max_examples=300, deadline=None)
@given(_rules, st.lists(st.tuples(_objects_with_misfits, _objects_with_misfits), min_size=1, max_size=8))
def test_generated_code_leaves_values_of_another_type_to_the_interpreter(
    text: str, pairs: list[tuple[Any, Any]]
) -> None:
    """A definition may change the type of a field under stored objects; a rule that reads one fails in Kubernetes."""
    (rule,) = compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": text}]}).rules
    if rule.fast is None:
        return
    for value, old in pairs:
        try:
            quick = rule.fast(value, old)
        except Exception:  # noqa: BLE001, S112 - whatever stops generated code means: ask the interpreter
            continue
        assert quick is _exactly(rule, value, old)


@settings(max_examples=60, deadline=None)
@given(st.lists(_rules, min_size=1, max_size=4), _objects, _objects)
def test_the_budget_never_underestimates_the_cost_of_rules(texts: list[str], value: Any, old: Any) -> None:
    """The reserve for unmeasured rules covers their real cost, so no object escapes its limit."""
    compiled = compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": text} for text in texts]})
    budget = Budget()
    compiled.check(value, old, budget=budget)
    for rule, seen, earlier in budget.unmeasured:
        assert rule.measure(seen, earlier) <= rule.most + 2, rule


@pytest.mark.parametrize(
    "text",
    [
        "self.n <= 5",
        "has(self.s) && self.s.startsWith('a')",
        "self.s in ['a', 'b']",
        "self.e.all(x, x.n > 0 && x.n < 65536)",
        "self.e.all(x, self.e.exists_one(y, x.s == y.s))",
        "self.s.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        "self == oldSelf",
        "self.?n.orValue(1) > 0",
        "!has(self.o) || self.o.n >= self.n",
        "self.l.map(x, x).sum() < 10",
    ],
)
def test_common_rules_have_generated_code(text: str) -> None:
    """The speed of the API server depends on these, and losing their fast form would go unnoticed."""
    compiled = compile_rules({**_SCHEMA, "x-kubernetes-validations": [{"rule": text}]})
    assert compiled.rules[0].fast is not None


def test_generated_code_leaves_large_values_to_the_interpreter() -> None:
    """Without limits in the schema, code is generated for small values only: large ones are metered."""
    schema = {"type": "array", "items": {"type": "string"}}
    rules = compile_rules({**schema, "x-kubernetes-validations": [{"rule": "self.all(x, self.exists(y, x == y))"}]})
    (rule,) = rules.rules
    assert rule.fast is not None
    assert rule.fast(["a", "b"], ABSENT) is True
    for large in (["a"] * 1000, ["a" * 10_000]):
        with pytest.raises(Undecided):
            rule.fast(large, ABSENT)
    budget = Budget()
    (failure,) = rules.check([str(number) for number in range(2000)], budget=budget)
    assert "actual cost limit exceeded" in failure.message


def test_values_that_are_not_integers_are_left_to_the_interpreter() -> None:
    """A stored 3.0 is a float in JSON: Kubernetes' rules fail on it, although 3.0 > 1 for Python."""
    rules = compile_rules({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]})
    for value in (3.0, True):
        (failure,) = rules.check(value, budget=Budget())
        assert "invalid data, expected int, got" in failure.message


def test_has_fails_on_a_value_of_another_type() -> None:
    """Found by `make difference`: the field was a string when it was stored, and is a list since."""
    schema = {"type": "object", "properties": {"e": {"type": "array", "maxItems": 5, "items": {"type": "string"}}}}
    rules = compile_rules({**schema, "x-kubernetes-validations": [{"rule": "!has(oldSelf.e) || has(self.e)"}]})
    (failure,) = rules.check({"e": "b"}, {"e": "b"}, budget=Budget())
    assert "invalid data, expected an array for the provided schema with type=array" in failure.message


def test_rules_on_the_old_value_need_one() -> None:
    """A transition rule does not apply to a new object."""
    rules = compile_rules({"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]})
    assert rules.uses_old_self
    assert rules.check(1, ABSENT, budget=Budget()) == []
    assert len(rules.check(1, 2, budget=Budget())) == 1


def test_cheap_rules_are_measured_only_if_necessary() -> None:
    """Unmeasured rules are evaluated again once their estimates exhaust the budget, and the difference is returned."""
    schema = {"type": "string", "maxLength": 200, "x-kubernetes-validations": [{"rule": "self.matches('^a+$')"}]}
    rules = compile_rules(schema)
    (rule,) = rules.rules
    real = rule.measure("a", ABSENT)
    assert real < rule.most
    budget = Budget(rule.most * 2)
    for _ in range(4):
        assert rules.check("a", budget=budget) == []
    assert budget.free == rule.most * 2 - 4 * real or len(budget.unmeasured) > 0
    assert not budget.is_exhausted
    spent = 0
    while not rules.check("a", budget=budget):
        spent += 1
    assert spent + 4 == rule.most * 2 // real
