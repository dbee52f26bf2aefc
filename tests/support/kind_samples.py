"""Documents for kinds: one that sets every field of a class, and recorded ones."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect

_TESTS = Path(__file__).parent.parent

_SCALARS: dict[type, Any] = {
    inspect.StrType: "text",
    inspect.IntType: 7,
    inspect.FloatType: 1.5,
    inspect.BoolType: True,
    inspect.BytesType: "aGk=",
    inspect.DateTimeType: "2026-01-02T03:04:05Z",
    inspect.AnyType: {"any": ["thing", 1]},
    inspect.LiteralType: "True",
}
_CUSTOM = {"Quantity": "1500m", "MicroTime": "2026-01-02T03:04:05.000006Z", "Duration": "1m30s"}


def filled(wanted: inspect.Type, inside: tuple[type, ...] = ()) -> Any:
    """Return a document of this type in which every field is set; recursive types are left out."""
    match wanted:
        case inspect.StructType(cls=cls, fields=fields):
            deeper = (*inside, cls)
            return {one.encode_name: filled(one.type, deeper) for one in fields if not _recurs(one.type, deeper)}
        case inspect.ListType(item_type=item):
            return [] if _recurs(item, inside) else [filled(item, inside)]
        case inspect.DictType(value_type=value):
            return {} if _recurs(value, inside) else {"key": filled(value, inside)}
        case inspect.UnionType(types=types):
            return filled(next(one for one in types if not isinstance(one, inspect.NoneType)), inside)
        case inspect.CustomType(cls=cls):
            return _CUSTOM[cls.__name__]
        case _:
            return _SCALARS[type(wanted)]


def _recurs(wanted: inspect.Type, inside: tuple[type, ...]) -> bool:
    match wanted:
        case inspect.StructType(cls=cls):
            return cls in inside
        case inspect.UnionType(types=types):
            return any(_recurs(one, inside) for one in types)
        case _:
            return False


def sample(name: str) -> dict[str, Any]:
    """Return one of the sample documents that a server publishes about its types."""
    document: dict[str, Any] = json.loads(
        lzma.decompress((_TESTS / "codegen" / "sample" / f"{name}.json.xz").read_bytes())
    )
    return document


def recorded(path: str) -> Iterator[dict[str, Any]]:
    """Return the lines of a recording."""
    with lzma.open(_TESTS / "golden" / f"{path}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
