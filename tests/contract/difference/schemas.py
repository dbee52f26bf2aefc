"""Random schemas of custom resources with rules, and values for them, right most of the time."""

from collections.abc import Callable
from typing import Any

from steersman.json_types import copied
from tests.contract.difference.dice import Dice

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


def schema(dice: Dice) -> Document:
    """Give the schema of a kind with spec and status."""
    spec = _object(dice, 3)
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
    if dice.chance(0.2):
        root["required"] = ["spec"]
    if dice.chance(0.15):
        root["x-kubernetes-validations"] = [
            dice.pick(
                {"rule": "self.metadata.name.size() < 5", "message": "long name"},
                {"rule": "has(self.spec)"},
                {
                    "rule": "!has(self.spec) || !has(self.spec.replicas) || self.spec.replicas != 7",
                    "reason": "FieldValueForbidden",
                },
            )
        ]
    return root


def _integer(dice: Dice, depth: int) -> Document:
    del depth
    made: Document = {"type": "integer"}
    dice.maybe(
        made,
        0.25,
        minimum=lambda: dice.number(-1, 2),
        maximum=lambda: dice.number(3, 9),
        format=lambda: dice.pick("int32", "int64"),
        multipleOf=lambda: dice.pick(1, 2, 5),
        enum=lambda: dice.some([1, 2, 3, 5], 1),
    )
    if "minimum" in made and dice.chance(0.3):
        made["exclusiveMinimum"] = True
    return made


def _number(dice: Dice, depth: int) -> Document:
    del depth
    made: Document = {"type": "number"}
    dice.maybe(
        made, 0.3, minimum=lambda: 0.5, maximum=lambda: dice.pick(5, 7.5), format=lambda: dice.pick("double", "float")
    )
    return made


def _string(dice: Dice, depth: int) -> Document:
    del depth
    made: Document = {"type": "string"}
    if dice.chance(0.8):
        made["maxLength"] = dice.number(3, 20)
    dice.maybe(
        made,
        0.15,
        minLength=lambda: dice.number(1, 2),
        pattern=lambda: dice.of(_PATTERNS),
        format=lambda: dice.of(_FORMATS),
        enum=lambda: dice.some(["a", "b", "red", "green"], 1),
    )
    return made


def _boolean(dice: Dice, depth: int) -> Document:
    del dice, depth
    return {"type": "boolean"}


def _int_or_string(dice: Dice, depth: int) -> Document:
    del depth
    made: Document = {"x-kubernetes-int-or-string": True}
    if dice.chance(0.3):
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


def _array(dice: Dice, depth: int) -> Document:
    kind = dice.pick("", "atomic", "set", "map")
    made: Document = {"type": "array", "maxItems": dice.number(2, 5)}
    if dice.chance(0.2):
        made["minItems"] = 1
    if kind == "map":
        items = _object(dice, depth - 1, with_key=True)
        made["x-kubernetes-list-map-keys"] = ["key"]
    elif kind == "set":
        items = dice.pick(_string, _integer)(dice, 0)
        items.pop("default", None)
    else:
        items = _any(dice, depth - 1)
    if kind:
        made["x-kubernetes-list-type"] = kind
    made["items"] = items
    return made


def _map(dice: Dice, depth: int) -> Document:
    made: Document = {
        "type": "object",
        "additionalProperties": _any(dice, depth - 1),
        "maxProperties": dice.number(2, 5),
    }
    if dice.chance(0.2):
        made["x-kubernetes-map-type"] = dice.pick("atomic", "granular")
    return made


def _free(dice: Dice, depth: int) -> Document:
    del dice, depth
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(dice: Dice, depth: int, *, with_key: bool = False) -> Document:
    properties = {name: _any(dice, depth - 1) for name in dice.some(_NAMES, 1, 5 if depth > 1 else 3)}
    required = [name for name in properties if dice.chance(0.12) and "default" not in properties[name]]
    if with_key:
        properties["key"] = {"type": dice.pick("string", "integer")}
        required.append("key")
        if properties["key"]["type"] == "string":
            properties["key"]["maxLength"] = 10
    made: Document = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    if dice.chance(0.08):
        made["x-kubernetes-preserve-unknown-fields"] = True
    if dice.chance(0.08):
        made["x-kubernetes-map-type"] = dice.pick("atomic", "granular")
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


def _any(dice: Dice, depth: int) -> Document:
    made = dice.weighted(_SHAPES if depth > 0 else _SCALARS)(dice, depth)
    if dice.chance(0.1):
        made["nullable"] = True
    if dice.chance(0.18):
        made["default"] = value(dice, made, right=0.97)
    rules = _RULES.get(made.get("type", ""), ())
    if rules and dice.chance(0.18):
        made["x-kubernetes-validations"] = [_rule(dice, made, rules) for _ in range(dice.number(1, 2))]
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


def _rule(dice: Dice, made: Document, rules: tuple[str, ...]) -> Document:
    if "properties" in made:
        rules = _property_rules(made)
    rule: Document = {"rule": dice.of(rules)}
    dice.maybe(
        rule,
        0.25,
        message=lambda: dice.pick("not so", "wrong value"),
        reason=lambda: dice.pick("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"),
    )
    if "properties" in made and dice.chance(0.15):
        rule["fieldPath"] = f".{dice.of(sorted(made['properties']))}"
    if dice.chance(0.1):
        rule["messageExpression"] = dice.pick("'made: ' + string(size('abc'))", "'text'", "''")
    if "oldSelf" in rule["rule"] and dice.chance(0.1):
        rule["optionalOldSelf"] = True
    return rule


def value(dice: Dice, schema: Document, right: float = 0.95) -> Any:
    """Give a value of a schema, or now and then another one."""
    if not dice.chance(right):
        return copied(dice.of(_WRONG))
    if "enum" in schema and dice.chance(0.8):
        return dice.of(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return dice.pick(1, 80, "a", "50%")
    return _VALUES[schema["type"]](dice, schema, right)


def _object_value(dice: Dice, schema: Document, right: float) -> Any:
    if "additionalProperties" in schema:
        names = dice.some(_NAMES, 0, 3)
        return {name: value(dice, schema["additionalProperties"], right) for name in names}
    required = schema.get("required", ())
    made = {
        name: value(dice, part, right)
        for name, part in schema.get("properties", {}).items()
        if dice.chance(0.98 if name in required else 0.6)
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") and dice.chance(0.7):
        made["extra"] = copied(dice.of(_FREE))
    elif dice.chance(0.03):
        made["unknown"] = dice.pick(1, {"a": 1}, None)
    return made


def _array_value(dice: Dice, schema: Document, right: float) -> Any:
    items = [value(dice, schema["items"], right) for _ in range(dice.number(0, 3))]
    if schema.get("x-kubernetes-list-type") == "map" and dice.chance(0.9):
        named = {}
        for item in items:
            if isinstance(item, dict):
                key = schema["x-kubernetes-list-map-keys"][0]
                is_text = schema["items"]["properties"][key]["type"] == "string"
                item[key] = dice.pick("k1", "k2", "k3") if is_text else dice.pick(1, 2, 3)
                named[item[key]] = item
        return list(named.values())
    if schema.get("x-kubernetes-list-type") == "set" and dice.chance(0.9):
        return list({repr(item): item for item in items}.values())
    return items


def _string_value(dice: Dice, schema: Document, right: float) -> Any:
    del schema, right
    return dice.of(_STRINGS)


def _integer_value(dice: Dice, schema: Document, right: float) -> Any:
    del schema, right
    return dice.of(_NUMBERS)


def _number_value(dice: Dice, schema: Document, right: float) -> Any:
    del schema, right
    return dice.pick(*_NUMBERS, 0.5, 1.5, 2.25, 1e3)


def _boolean_value(dice: Dice, schema: Document, right: float) -> Any:
    del schema, right
    return dice.chance(0.5)


_VALUES: dict[str, Callable[[Dice, Document, float], Any]] = {
    "object": _object_value,
    "array": _array_value,
    "string": _string_value,
    "integer": _integer_value,
    "number": _number_value,
    "boolean": _boolean_value,
}
