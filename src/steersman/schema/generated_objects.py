"""Generates objects from a schema: valid, small, various, and the same for the same seed. For checks, not for users.

The first object has every field, the second only the required ones, the others some. Where a rule or a pattern cannot
be satisfied by chance the object is left out, so that every result is valid.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from steersman.json_types import ABSENT, JsonObject
from steersman.randomness import Randomness
from steersman.structural.checks.value_checks import compile_pattern
from steersman.structural.compiled import CompiledSchema
from steersman.structural.schema import INT_OR_STRING, META_FIELDS, Structural

T = TypeVar("T")

#: Texts that patterns of real APIs ask for.
_TEXTS: Final = (
    *("a", "abc", "a-b", "a.b", "a_b", "A", "Abc", "ABC", "1", "12", "0.5", "v1", "1.2.3", "v1.2.3", "example.com"),
    *("10.0.0.1", "10.0.0.0/8", "fd00::1", "a@example.com", "https://example.com/a", "/a", "/a/b", "a/b", "a:b", "a=b"),
    *("0 5 * * *", "*/5 * * * *", "@daily", "1s", "5m", "1h", "100m", "1Gi", "50%", "08:30", "2024-02-29", "UTC"),
    *("Europe/Berlin", "00:11:22:33:44:55", "sha256:" + "0" * 64, "0" * 32, "a" * 40),
)
_FORMATS: Final = {
    "date-time": "2024-02-29T12:30:00Z",
    "date": "2024-02-29",
    "duration": "5m0s",
    "byte": "Ynl0ZXM=",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/a",
    "email": "a@example.com",
    "ipv4": "10.0.0.1",
    "ipv6": "fd00::1",
    "ip": "10.0.0.1",
    "cidr": "10.0.0.0/8",
    "mac": "00:11:22:33:44:55",
    "hostname": "example.com",
}
#: How often a valid object is tried for.
_TRIES: Final = 20
_LIMIT: Final = 1000
_SOME: Final = 0.7


class _Impossible(Exception):  # noqa: N818 - not an error: this value is left out
    """No value that the schema takes was found."""


def generated(
    schema: CompiledSchema, api_version: str, kind: str, *, count: int, seed: int = 0, limit: int = _LIMIT
) -> Iterator[JsonObject]:
    """Yield ``count`` generated objects of a kind; fewer if valid ones are not found.

    Numbers whose schema has only one bound, or none, are at most ``limit`` away from it.
    """
    maker = _Generator(Randomness(seed), limit)
    for place in range(count):
        for _ in range(_TRIES):
            share = (1.0, 0.0)[place] if place < 2 else _SOME  # noqa: PLR2004 - all, only required, then some
            try:
                made = maker.root(schema.node, share)
            except _Impossible:
                continue
            document = {"apiVersion": api_version, "kind": kind, "metadata": maker.metadata(place), **made}
            schema.default(document)
            if not schema.validate(document).errors:
                yield document
                break


class _Generator:
    def __init__(self, randomness: Randomness, limit: int) -> None:
        self._randomness = randomness
        self._limit = limit
        #: Probability of an optional field.
        self._share = 1.0

    def root(self, node: Structural, share: float) -> JsonObject:
        self._share = share
        fields = {name: part for name, part in node.properties.items() if name not in META_FIELDS}
        return self._fields(fields, node)

    def metadata(self, place: int) -> JsonObject:
        word = self._randomness.suffix()
        return {
            "name": f"generated-{place}",
            "namespace": "default",
            "uid": self._randomness.uid(),
            "resourceVersion": str(place + 1),
            "generation": 1,
            "creationTimestamp": _FORMATS["date-time"],
            "labels": {"example.com/label": word},
            "annotations": {"example.com/annotation": word},
        }

    def value(self, node: Structural) -> Any:
        if "enum" in node.schema:
            return self._pick([value for value in node.schema["enum"] if value is not None])
        if not node.types:
            return {"any": self._randomness.suffix()}
        if node.types == INT_OR_STRING:
            return self._pick([self._integer(node), self._string(node) if "pattern" in node.schema else "2"])
        makers: dict[str, Callable[[Structural], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
            "boolean": lambda _: self._chance() < 0.5,  # noqa: PLR2004 - heads or tails
        }
        return makers[node.types[0]](node)

    def _object(self, node: Structural) -> JsonObject:
        made = self._fields(node.properties, node)
        if node.values is not None:
            least = max(int(node.schema.get("minProperties", 0)), 1 if self._share else 0)
            made |= {f"key-{place}": self.value(node.values) for place in range(least)}
        elif node.preserves_unknown and not node.properties:
            made["any"] = self._randomness.suffix()
        return made

    def _fields(self, fields: dict[str, Structural], node: Structural) -> JsonObject:
        required = set(node.schema.get("required") or ())
        made: JsonObject = {}
        for name, part in fields.items():
            if name not in required and self._chance() >= self._share:
                continue
            try:
                made[name] = self.value(part)
            except _Impossible:
                if name in required:
                    raise
        return made

    def _array(self, node: Structural) -> list[Any]:
        if node.items is None:
            return []
        least, most = int(node.schema.get("minItems", 0)), int(node.schema.get("maxItems", _LIMIT))
        count = min(max(least, int(self._chance() * 3) if self._share else 0), most)
        made: list[Any] = []
        for _ in range(count * 3):
            value = self.value(node.items)
            if len(made) < count and value not in made:
                made.append(value)
        return made

    def _string(self, node: Structural) -> str:
        schema = node.schema
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", _LIMIT))
        pattern, form = schema.get("pattern"), schema.get("format")
        if form in _FORMATS:
            return _FORMATS[form]
        if pattern:
            matches = compile_pattern(pattern)
            return self._pick([text for text in _TEXTS if least <= len(text) <= most and matches(text)])
        text = self._randomness.suffix(max(least, 1 + int(self._chance() * 8)))
        return text[:most]

    def _integer(self, node: Structural) -> int:
        low, high = _bounds(node.schema, self._limit)
        step = int(node.schema.get("multipleOf", 1)) or 1
        first, last = -(-int(low) // step), int(high) // step
        if first > last:
            raise _Impossible
        return step * (first + int(self._chance() * (last - first)))

    def _number(self, node: Structural) -> float:
        low, high = _bounds(node.schema, self._limit)
        step = node.schema.get("multipleOf")
        if step:
            return float(step * int(high // step))
        return round((low + high) / 2, 3) if self._chance() < 0.5 else float(high)  # noqa: PLR2004 - either

    def _chance(self) -> float:
        return self._randomness.between(0.0, 0.999999)

    def _pick(self, values: Sequence[T]) -> T:
        if not values:
            raise _Impossible
        return values[int(self._chance() * len(values))]


def _bounds(schema: JsonObject, limit: int) -> tuple[float, float]:
    low, high = schema.get("minimum", ABSENT), schema.get("maximum", ABSENT)
    if low is ABSENT and high is ABSENT:
        return 0, limit
    if low is ABSENT:
        low = high - limit
    if high is ABSENT:
        high = low + limit
    return low + bool(schema.get("exclusiveMinimum")), high - bool(schema.get("exclusiveMaximum"))
