"""Write the data of the embedded API server about built-in kinds.

Usage: ``python tools/generate_server_types.py OPENAPI_SCHEMAS PROTOBUF_FIELDS``

The first file holds ``{"schemas": {definition name: OpenAPI schema}}``, the second ``{message: {field number: [JSON
name, type, flags]}}``. Both go, compressed, into ``src/steersman/apiserver/data``; the same input gives the same bytes.
"""

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from steersman.json_types import JsonObject

_TARGET = Path(__file__).parent.parent / "src" / "steersman" / "apiserver" / "data"
_DROPPED = ("description", "x-kubernetes-unions")


def _slim(value: Any) -> Any:
    """Return a schema without descriptions and unused keys; names of properties stay."""
    if isinstance(value, list):
        return [_slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: _slim(below) for name, below in member.items()} if key == "properties" else _slim(member)
        for key, member in value.items()
        if key not in _DROPPED
    }


def _write(name: str, document: Any) -> None:
    text = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    packed = lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)
    (_TARGET / name).write_bytes(packed)
    print(f"{name}: {len(document)} entries, {len(packed)} bytes")


#: Messages without fields: a list of field numbers does not contain them, so they would look like strings.
_EMPTY = {("apiextensions/v1.CustomResourceSubresources", "1"): "apiextensions/v1.CustomResourceSubresourceStatus"}


def _with_empty(messages: JsonObject) -> JsonObject:
    """Return the table of messages with those that have no fields."""
    for (message, number), empty in _EMPTY.items():
        messages[message][number][1] = empty
        messages[empty] = {}
    return messages


def main() -> None:
    """Read both files and write both resources."""
    schemas, messages = (json.loads(Path(name).read_text()) for name in sys.argv[1:3])
    _TARGET.mkdir(exist_ok=True)
    _write("types.json.xz", {name: _slim(schema) for name, schema in schemas["schemas"].items()})
    _write("protobuf.json.xz", _with_empty(messages))


if __name__ == "__main__":
    main()
