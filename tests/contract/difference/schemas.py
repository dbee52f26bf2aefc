"""Random schemas of custom resources with validation rules, and values for them, most of them valid."""

from collections.abc import Callable
from typing import Any

from steersman.json_types import copied
from tests.contract.difference.choices import Choices

Document = dict[str, Any]
_NAMES = ("a", "b", "c", "d", "e", "f")
_PATTERNS = ("^[a-z]*$", "^v\\d+$", "a|b", "^[^x]+$")
_FORMATS = (
    "date-time",
    "date",
    "email",
    "uuid",
    "ipv4",
    "cidr",
    "byte",
    "duration",
    "uri",
    "int-or-string",
    "nonsense",
)
_STRINGS = ("", "a", "b", "abc", "v1", "red", "green", "2026-01-01T00:00:00Z", "1h", "10.0.0.1", "aGk=", "xyzzy", "ä")
_WRONG: tuple[Any, ...] = (None, 0, 1, -5, "", "abc", True, [], {}, 1.5, ["a"], {"a": 1}, "x" * 30, 1e30, 2.0)
_FREE: tuple[Any, ...] = (1, "a", {"b": [1, None]}, [1, {"c": 2}], None, 1.5, True)
_NUMBERS = (0, 1, 2, 3, 5, 10, -1, 100, 7)


def schema(rng: Choices) -> Document:
    """Return the schema of a kind with spec and status."""
    spec = _object(rng, 3)
    status = {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
            "phase": {"type": "string", "enum": ["Up", "Down"]},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {"type": {"type": "string"}, "status": {"type": "string", "default": "Unknown"}},
                },
            },
        },
    }
    spec["properties"]["replicas"] = {"type": "integer", "minimum": 0, "maximum": 9}
    root: Document = {"type": "object", "properties": {"spec": spec, "status": status}}
    if rng.chance(0.2):
        root["required"] = ["spec"]
    if rng.chance(0.15):
        root["x-kubernetes-validations"] = [
            rng.pick(
                {"rule": "self.metadata.name.size() < 5", "message": "long name"},
                {"rule": "has(self.spec)"},
                {
                    "rule": "!has(self.spec) || !has(self.spec.replicas) || self.spec.replicas != 7",
                    "reason": "FieldValueForbidden",
                },
            )
        ]
    return root


def _integer(rng: Choices, depth: int) -> Document:
    del depth
    made: Document = {"type": "integer"}
    rng.maybe(
        made,
        0.25,
        minimum=lambda: rng.number(-1, 2),
        maximum=lambda: rng.number(3, 9),
        format=lambda: rng.pick("int32", "int64"),
        multipleOf=lambda: rng.pick(1, 2, 5),
        enum=lambda: rng.some([1, 2, 3, 5], 1),
    )
    if "minimum" in made and rng.chance(0.3):
        made["exclusiveMinimum"] = True
    return made


def _number(rng: Choices, depth: int) -> Document:
    del depth
    made: Document = {"type": "number"}
    rng.maybe(
        made,
        0.3,
        minimum=lambda: 0.5,
        maximum=lambda: rng.pick(5, 7.5),
        format=lambda: rng.pick("double", "float"),
    )
    return made


def _string(rng: Choices, depth: int) -> Document:
    del depth
    made: Document = {"type": "string"}
    if rng.chance(0.8):
        made["maxLength"] = rng.number(3, 20)
    rng.maybe(
        made,
        0.15,
        minLength=lambda: rng.number(1, 2),
        pattern=lambda: rng.of(_PATTERNS),
        format=lambda: rng.of(_FORMATS),
        enum=lambda: rng.some(["a", "b", "red", "green"], 1),
    )
    return made


def _boolean(rng: Choices, depth: int) -> Document:
    del rng, depth
    return {"type": "boolean"}


def _int_or_string(rng: Choices, depth: int) -> Document:
    del depth
    made: Document = {"x-kubernetes-int-or-string": True}
    if rng.chance(0.3):
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


def _array(rng: Choices, depth: int) -> Document:
    kind = rng.pick("", "atomic", "set", "map")
    made: Document = {"type": "array", "maxItems": rng.number(2, 5)}
    if rng.chance(0.2):
        made["minItems"] = 1
    if kind == "map":
        items = _object(rng, depth - 1, with_key=True)
        made["x-kubernetes-list-map-keys"] = ["key"]
    elif kind == "set":
        items = rng.pick(_string, _integer)(rng, 0)
        items.pop("default", None)
    else:
        items = _any(rng, depth - 1)
    if kind:
        made["x-kubernetes-list-type"] = kind
    made["items"] = items
    return made


def _map(rng: Choices, depth: int) -> Document:
    made: Document = {
        "type": "object",
        "additionalProperties": _any(rng, depth - 1),
        "maxProperties": rng.number(2, 5),
    }
    if rng.chance(0.2):
        made["x-kubernetes-map-type"] = rng.pick("atomic", "granular")
    return made


def _free(rng: Choices, depth: int) -> Document:
    del rng, depth
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(rng: Choices, depth: int, *, with_key: bool = False) -> Document:
    properties = {name: _any(rng, depth - 1) for name in rng.some(_NAMES, 1, 5 if depth > 1 else 3)}
    required = [name for name in properties if rng.chance(0.12) and "default" not in properties[name]]
    if with_key:
        properties["key"] = {"type": rng.pick("string", "integer")}
        required.append("key")
        if properties["key"]["type"] == "string":
            properties["key"]["maxLength"] = 10
    made: Document = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    if rng.chance(0.08):
        made["x-kubernetes-preserve-unknown-fields"] = True
    if rng.chance(0.08):
        made["x-kubernetes-map-type"] = rng.pick("atomic", "granular")
    return made


_SHAPES: dict[Callable[..., Document], int] = {
    _integer: 5,
    _number: 2,
    _string: 6,
    _boolean: 2,
    _int_or_string: 1,
    _array: 4,
    _map: 2,
    _free: 1,
    _object: 4,
}
_SCALARS: dict[Callable[..., Document], int] = {_integer: 4, _number: 2, _string: 6, _boolean: 2, _int_or_string: 1}


def _any(rng: Choices, depth: int) -> Document:
    made = rng.weighted(_SHAPES if depth > 0 else _SCALARS)(rng, depth)
    if rng.chance(0.1):
        made["nullable"] = True
    if rng.chance(0.18):
        made["default"] = value(rng, made, right=0.97)
    rules = _RULES.get(made.get("type", ""), ())
    if rules and rng.chance(0.18):
        made["x-kubernetes-validations"] = [_rule(rng, made, rules) for _ in range(rng.number(1, 2))]
    return made


_RULES: dict[str, tuple[str, ...]] = {
    "integer": (
        "self >= 0",
        "self == oldSelf",
        "self > oldSelf",
        "self % 2 == 1",
        "self in [1, 2, 3]",
        "10 / self > 1",
    ),
    "number": ("self >= 0.5", "self < 5.0", "double(self) == self", "self <= oldSelf"),
    "string": (
        "self.startsWith('a')",
        "self == oldSelf",
        "size(self) != 1",
        "self.matches('^[a-z0-9]*$')",
        "self != 'b'",
        "self.lowerAscii() == self",
        "self.size() >= oldSelf.size()",
        "!self.contains('x')",
        "int(self) > 0",
    ),
    "boolean": ("self", "self == oldSelf", "!self || true"),
    "array": ("size(self) < 3", "self.size() >= oldSelf.size()", "size(self) > 0", "self == oldSelf"),
    "object": ("size(self) < 3", "self == oldSelf", "size(self) >= 0"),
}


def _property_rules(made: Document) -> tuple[str, ...]:
    rules = []
    for name, part in made["properties"].items():
        rules.append(f"has(self.{name})")
        rules.append(f"!has(oldSelf.{name}) || has(self.{name})")
        if part.get("type") in ("integer", "number"):
            rules.append(f"!has(self.{name}) || self.{name} > 0")
        if part.get("type") == "string":
            rules.append(f"!has(self.{name}) || self.{name} != 'a'")
            rules.append(f"self.?{name}.orValue('z') != 'b'")
        if part.get("type") == "array" and part["items"].get("type") == "string":
            rules.append(f"!has(self.{name}) || self.{name}.all(x, x != 'b')")
            rules.append(f"!has(self.{name}) || self.{name}.exists(x, x == 'a')")
        if part.get("type") == "array" and part["items"].get("type") == "integer":
            rules.append(f"!has(self.{name}) || self.{name}.map(x, x * 2).filter(x, x > 2).size() < 2")
            rules.append(f"!has(self.{name}) || self.{name}.sum() < 6")
    return tuple(rules)


def _rule(rng: Choices, made: Document, rules: tuple[str, ...]) -> Document:
    if "properties" in made:
        rules = _property_rules(made)
    rule: Document = {"rule": rng.of(rules)}
    rng.maybe(
        rule,
        0.25,
        message=lambda: rng.pick("not so", "wrong value"),
        reason=lambda: rng.pick("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"),
    )
    if "properties" in made and rng.chance(0.15):
        rule["fieldPath"] = f".{rng.of(sorted(made['properties']))}"
    if rng.chance(0.1):
        rule["messageExpression"] = rng.pick("'made: ' + string(size('abc'))", "'text'", "''")
    if "oldSelf" in rule["rule"] and rng.chance(0.1):
        rule["optionalOldSelf"] = True
    return rule


def value(rng: Choices, schema: Document, right: float = 0.95) -> Any:
    """Return a value of a schema, or sometimes an invalid one."""
    if not rng.chance(right):
        return copied(rng.of(_WRONG))
    if "enum" in schema and rng.chance(0.8):
        return rng.of(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return rng.pick(1, 80, "a", "50%")
    return _VALUES[schema["type"]](rng, schema, right)


def _object_value(rng: Choices, schema: Document, right: float) -> Any:
    if "additionalProperties" in schema:
        names = rng.some(_NAMES, 0, 3)
        return {name: value(rng, schema["additionalProperties"], right) for name in names}
    required = schema.get("required", ())
    made = {
        name: value(rng, part, right)
        for name, part in schema.get("properties", {}).items()
        if rng.chance(0.98 if name in required else 0.6)
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") and rng.chance(0.7):
        made["extra"] = copied(rng.of(_FREE))
    elif rng.chance(0.03):
        made["unknown"] = rng.pick(1, {"a": 1}, None)
    return made


def _array_value(rng: Choices, schema: Document, right: float) -> Any:
    items = [value(rng, schema["items"], right) for _ in range(rng.number(0, 3))]
    if schema.get("x-kubernetes-list-type") == "map" and rng.chance(0.9):
        named = {}
        for item in items:
            if isinstance(item, dict):
                key = schema["x-kubernetes-list-map-keys"][0]
                is_text = schema["items"]["properties"][key]["type"] == "string"
                item[key] = rng.pick("k1", "k2", "k3") if is_text else rng.pick(1, 2, 3)
                named[item[key]] = item
        return list(named.values())
    if schema.get("x-kubernetes-list-type") == "set" and rng.chance(0.9):
        return list({repr(item): item for item in items}.values())
    return items


def _string_value(rng: Choices, schema: Document, right: float) -> Any:
    del schema, right
    return rng.of(_STRINGS)


def _integer_value(rng: Choices, schema: Document, right: float) -> Any:
    del schema, right
    return rng.of(_NUMBERS)


def _number_value(rng: Choices, schema: Document, right: float) -> Any:
    del schema, right
    return rng.pick(*_NUMBERS, 0.5, 1.5, 2.25, 1e3)


def _boolean_value(rng: Choices, schema: Document, right: float) -> Any:
    del schema, right
    return rng.chance(0.5)


_VALUES: dict[str, Callable[[Choices, Document, float], Any]] = {
    "object": _object_value,
    "array": _array_value,
    "string": _string_value,
    "integer": _integer_value,
    "number": _number_value,
    "boolean": _boolean_value,
}
