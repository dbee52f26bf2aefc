import pytest

from steersman.cel import EvaluationError, ExpressionError, compile_expression
from steersman.cel.values.values import ObjectValue


def _value(expression: str) -> object:
    return compile_expression(expression, {}, makes_patches=True).evaluate()


def test_an_expression_builds_objects_and_patches() -> None:
    """The values of mutating policies; names below Object are free."""
    built = _value("Object{spec: Object.spec{replicas: 1 + 2, ?gone: optional.none()}}")
    assert isinstance(built, ObjectValue)
    assert built.type_name == "Object"
    spec = built.fields["spec"]
    assert (spec.type_name, dict(spec.fields)) == ("Object.spec", {"replicas": 3})
    (patch,) = _value('[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: 1}]')  # type: ignore[misc]
    assert patch.fields == {"op": "add", "path": "/metadata/labels/a~1b~0c", "value": 1}


def test_built_objects_compare_by_their_type_and_fields() -> None:
    """As in Kubernetes, where two names are two types."""
    assert _value("Object{a: 1} == Object{a: 1}") is True
    assert _value("Object{a: 1} == Object{a: 2}") is False
    assert _value("Object{a: [1, 2]}.a[1] == 2 && has(Object{a: 1}.a) && !has(Object{}.a)") is True
    assert _value("Object{}.?a.orValue(5) == 5") is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Odd{}", "undeclared reference to 'Odd'"),
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{odd: 1}", "undefined field 'odd'"),
    ],
)
def test_wrong_types_are_found_before_an_expression_runs(expression: str, message: str) -> None:
    """The author of a policy learns of them when it is written."""
    with pytest.raises(ExpressionError, match=message):
        _value(expression)


def test_other_expressions_cannot_build_patches() -> None:
    """Rules of custom resources have nothing to change."""
    with pytest.raises(ExpressionError, match="undeclared reference to 'Object'"):
        compile_expression("Object{}", {})
    with pytest.raises(ExpressionError, match="undeclared reference to 'jsonpatch'"):
        compile_expression("jsonpatch.escapeKey('a')", {})


def test_an_optional_field_needs_an_optional_value() -> None:
    """A mistake that only shows with a dynamic value is an error when it runs."""
    with pytest.raises(EvaluationError, match="cannot initialize optional entry from non-optional value"):
        _value("Object{?a: dyn(1)}")
