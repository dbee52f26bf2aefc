"""The order in which a real server reads what a patch has made, by which it finds the first fault.

It writes the objects that a patch goes through with their members sorted; all others stay as they were written.
"""

from typing import Any

from steersman.json_types import JsonObject

#: The objects that a patch touches: members by name, each with the objects inside.
_Way = JsonObject


def in_read_order(document: object, patch: Any) -> Any:
    """Return a document in which every object that a JSON or merge patch touches has sorted members."""
    return _sorted(document, _way(patch) if patch.__class__ is list else patch)


def _way(operations: list[Any]) -> _Way:
    way: _Way = {}
    for operation in operations:
        path, source = (str(operation.get(key) or "") for key in ("path", "from"))
        # A copy into itself has touched its source before.
        is_inside = bool(source) and path.startswith(f"{source}/")
        for segments in (path.split("/")[1 : None if is_inside else -1], source.split("/")[1:-1]):
            here = way
            for segment in segments:
                here = here.setdefault(segment.replace("~1", "/").replace("~0", "~"), {})
    return way


def _sorted(value: Any, way: _Way) -> object:
    if value.__class__ is dict:
        return {name: _below(value[name], way.get(name)) for name in sorted(value)}
    if value.__class__ is list:
        return [_below(item, way.get(str(index))) for index, item in enumerate(value)]
    return value


def _below(value: object, way: object) -> object:
    return _sorted(value, way) if way.__class__ is dict else value
