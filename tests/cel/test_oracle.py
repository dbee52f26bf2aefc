"""The core language, compared with an independent implementation of CEL."""

import datetime as dt
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cel import EvaluationError, ExpressionError, compile_expression
from steersman.cel.types import DYN, INT, STRING, list_of, map_of
from steersman.cel.values.values import CelMap, Duration, Timestamp, TypeValue, from_json

_DATA: dict[str, Any] = {"i": 5, "s": "abc", "l": [3, 1, 2], "m": {"a": 1, "b": 2}, "d": {"x": [1, "y"], "n": None}}
_OURS = {"i": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, INT), "d": DYN}
_THEIRS = cel.NewEnv(
    variables={
        "i": cel.Type.INT,
        "s": cel.Type.STRING,
        "l": cel.Type.List(cel.Type.INT),
        "m": cel.Type.Map(cel.Type.STRING, cel.Type.INT),
        "d": cel.Type.DYN,
    }
)
_ERROR = "an evaluation error"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _plain(value: Any) -> Any:
    """Convert a value of ours into that of the other implementation."""
    match value:
        case CelMap():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case Timestamp():
            return _EPOCH + dt.timedelta(microseconds=value.nanos // 1000)
        case Duration():
            return dt.timedelta(microseconds=value.nanos // 1000)
        case TypeValue():
            return value.name
        case bool() | str() | None | float() | bytes():
            return value
        case _:
            return int(value)


def _ours(text: str) -> Any:
    try:
        program = compile_expression(text, _OURS)
    except ExpressionError as error:
        folded = str(error).startswith("program instantiation failed")
        return _ERROR if folded else ("refused", str(error))
    try:
        return _plain(program.evaluate(*(from_json(_DATA[name]) for name in program.variables)))
    except EvaluationError:
        return _ERROR


def _theirs(text: str) -> Any:
    try:
        program = _THEIRS.compile(text)
    except RuntimeError as error:
        return "refused", str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    value = program.eval(data=_DATA)
    if value.type().name() == "ERROR":
        return _ERROR
    plain = value.plain_value()
    return bytes(plain) if isinstance(plain, bytearray) else plain


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (ours != ours and theirs != theirs)  # noqa: PLR0124 - NaN
    return type(ours) is type(theirs) and bool(ours == theirs)


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - 4 / 2 % 3",
        "-7 / 2",
        "-7 % 2",
        "7 / -2",
        "9223372036854775807 + i",
        "-9223372036854775808 - i",
        "-9223372036854775807 * i",
        "18446744073709551615u + 1u",
        "1u - 2u",
        "1.0 / 0.0",
        "-1.0 / 0.0",
        "0.0 / 0.0 == 0.0 / 0.0",
        "i / 0",
        "i % 0",
        "1 < 2 && 2.5 > 1.0 && 'a' < 'b' && b'a' <= b'b'",
        "dyn(1) == 1.0",
        "dyn(1) == 1u",
        "dyn(1) == '1'",
        "dyn(1) == true",
        "dyn([1]) == [1.0]",
        "true || i / 0 > 1",
        "i / 0 > 1 || true",
        "false && i / 0 > 1",
        "i / 0 > 1 && false",
        "i / 0 > 1 && true",
        "i > 3 ? 'big' : 'small'",
        "i / 0 > 1 ? 1 : 2",
        "[1, 2, 3].all(x, x > 0)",
        "[1, 2, 0].all(x, 6 / x > 1)",
        "[0, 9].all(x, 6 / x > 1)",
        "[0, 2].exists(x, 6 / x > 1)",
        "[1, 2, 2].exists_one(x, x == 2)",
        "[1, 2, 3].map(x, x * i)",
        "[1, 2, 3].map(x, x > 1, x * i)",
        "[1, 2, 3].filter(x, x > 1)",
        "[1, 0].map(x, 1 / x)",
        "m.map(k, m[k] + 1).size()",
        "m.all(k, k.size() == 1)",
        "has(m.a)",
        "has(m.zz)",
        "has(d.x)",
        "has(d.zz)",
        "m.zz",
        "d.zz",
        "d.x[1]",
        "d.x[2]",
        "l[0] + l[2]",
        "l[3]",
        "l[-1]",
        "m['b']",
        "'a' in m && !('z' in m) && 3 in l && !(7 in l)",
        "{'a': 1, 'b': 2} == m",
        "{1: 'x', 2: 'y'}[2]",
        "{true: 'x'}[true]",
        "[1, 2] + l",
        "size(l) + size(m) + size(s) + size(b'ab') + 'é😀'.size()",
        "'tacocat'.contains('aco') && s.startsWith('ab') && s.endsWith('bc')",
        "s.matches('^[a-c]+$')",
        "matches(s, 'b')",
        "s + 'd' == 'abcd'",
        "b'a' + b'b'",
        "'\\u00e9\\x41\\101\\n'",
        "r'\\n'",
        "'''a\nb'''",
        "int('42') + int(4.9) + int(7u) + int(-4.9)",
        "int('x')",
        "int(1e99)",
        "uint('7') + uint(3)",
        "uint(-1)",
        "double('1.5') + double(2) + double(3u)",
        "string(12) + string(true) + string(1u) + string('x')",
        "string(b'abc')",
        "string(b'\\xff')",
        "bytes('é')",
        "bool('true') && !bool('f')",
        "bool('yes')",
        "timestamp('2023-02-03T04:05:06Z') + duration('36h')",
        "timestamp('2023-02-03T04:05:06Z') - timestamp('2023-02-03T04:05:00Z')",
        "timestamp('2023-02-03T04:05:06Z').getFullYear()",
        "timestamp('2023-02-03T04:05:06Z').getMonth()",
        "timestamp('2023-02-03T04:05:06Z').getDate()",
        "timestamp('2023-02-03T04:05:06Z').getDayOfMonth()",
        "timestamp('2023-02-03T04:05:06Z').getDayOfWeek()",
        "timestamp('2023-02-03T04:05:06Z').getDayOfYear()",
        "timestamp('2023-02-03T04:05:06Z').getHours('+02:00')",
        "timestamp('2023-02-03T04:05:06.789Z').getMilliseconds()",
        "timestamp('2023-02-03T04:05:06Z') < timestamp('2023-02-03T04:05:07Z')",
        "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
        "int(timestamp('2023-02-03T04:05:06Z'))",
        "duration('90m').getHours() + duration('90m').getMinutes()",
        "string(duration('90m'))",
        "duration('1h') + duration('30m') == duration('5400s')",
        "type(1) == int && type('a') == string && type([]) == list && type({}) == map && type(null) == null_type",
        "type(type(1)) == type",
        "null == null",
        "d.n == null",
        "[[1], [2]] == [[1], [2]]",
        "!true || !(!true)",
        "--i == i && !!true",
        "i in [1, 5] && s in ['abc']",
        "0x1F + 0xffu == 1",
        "1e3 + .5",
    ],
)
def test_core_language_agrees_with_another_implementation(text: str) -> None:
    """Values and failures are those of the reference implementation in C++."""
    ours, theirs = _ours(text), _theirs(text)
    assert _same(ours, theirs), f"{text}: {ours!r}, not {theirs!r}"


@pytest.mark.parametrize(
    "text",
    [
        "1 +",
        "(1",
        "[1, 2",
        "f(1,",
        "i + s",
        "nope(i)",
        "'abc",
        "1 2",
        "i ? 1 : 2",
        "true ? 1 : 'a'",
        "s[0]",
        "m[1]",
        "-s",
        "!i",
        "for",
        "i ++ 1",
        "#",
        "s == 1",
        "l == ['a']",
        "&& true",
        "&& !true",
        "f(,)",
        "9223372036854775808",
        "@",
        "i == 1 and true",
        "{1: 2",
        "[1 2]",
        "f(1 2)",
        "(1 2)",
        "{1 2}",
        "[i)",
        "a ? b c",
        "1.",
        "i[1",
        "()",
        "[,1]",
        "f(1,)",
        "1 + + 2",
        "a..b",
        "i == 1 ||",
        "a ? b :",
        "'a' 'b' 'c'",
        "1 = 2",
        "i;j",
        "l.map(x",
        "`a`",
        "i)",
        "$x",
    ],
)
def test_compile_errors_are_worded_alike(text: str) -> None:
    """Messages, positions and carets are the same, so that documentation found elsewhere applies."""
    assert _ours(text) == _theirs(text)


_ints = st.sampled_from(["i", "l[0]", "m['a']", "m.b", "size(s)", "l[9]", "m.zz"]) | st.integers(-9, 9).map(str)
_strings = st.sampled_from(["s", "''", "'b'", "'é'", "string(i)", "string(m.a)"])


def _int_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%"])
    return st.builds(lambda a, op, b: f"({a} {op} {b})", inner, operators, inner)


_int_expressions = st.recursive(_ints, _int_of, max_leaves=6)
_comparisons = st.builds(
    lambda a, op, b: f"({a} {op} {b})",
    _int_expressions,
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    _int_expressions,
) | st.builds(
    lambda a, op, b: f"({a}{op}{b}{')' if op.startswith('.') else ''})",
    _strings,
    st.sampled_from([" == ", " < ", ".contains(", ".startsWith(", ".endsWith("]),
    _strings,
)


def _bool_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(["&&", "||"]), inner),
        st.builds(lambda a: f"!({a})", inner),
        st.builds(lambda a, b, c: f"({a} ? {b} : {c})", inner, inner, inner),
        st.builds(
            lambda macro, a: f"l.{macro}(x, {a.replace('(i', '(x')})",
            st.sampled_from(["all", "exists", "exists_one"]),
            inner,
        ),
        st.builds(lambda a: f"(l.filter(x, {a}).size() > 1)", inner),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(_comparisons, _bool_of, max_leaves=6))
def test_generated_expressions_agree_with_another_implementation(text: str) -> None:
    """Overflow, absorption of errors and short-circuit evaluation, in any combination."""
    ours, theirs = _ours(text), _theirs(text)
    assert _same(ours, theirs), f"{text}: {ours!r}, not {theirs!r}"
