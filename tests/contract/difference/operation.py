"""One API operation as data: it can be sent to any server, written to a file, left out of a story.

A document may contain values that only a server can give. They are written as ``{"$from": [operation, pointer]}`` and
``{"$changed": [operation, merge patch]}``, and resolved from what that server answered before; in a path as
``{operation:pointer}``. What no answer gave is left out.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from steersman.protocol.patches import apply_merge_patch

NAMESPACE = "story-namespace"
GROUP = "story-group"
_IN_PATH = re.compile(r"\{(\d+):([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Operation:
    """A request; ``number`` names it in the story."""

    number: int
    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    #: A watch is read until it tells of this object.
    until: str = ""
    #: What must be served before the story goes on: the path of a collection of custom resources.
    serves: str = ""
    #: Others are in the same collection: of the answer only objects count whose names begin so.
    own: str = ""

    def __str__(self) -> str:
        body = "" if self.body is None else f"\n      {json.dumps(self.body)}"
        media = f"  [{self.content_type}]" if self.body is not None else ""
        accept = "" if self.accept == "application/json" else f"  accept: {self.accept}"
        return f"{self.number:>4} {self.method} {self.path}{media}{accept}{body}"


_TARGET = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/[^/]+(?=/(?!status$)))?/(?P<resource>[^/]+)/?(?P<name>[^/]*)/?(?P<part>.*)"
)


def target(path: str) -> tuple[str, str, str]:
    """Give the resource of a path, the name of the object, and the part of it."""
    found = _TARGET.fullmatch(path)
    return (found["resource"], found["name"], found["part"]) if found else ("", "", "")


@dataclass(slots=True)
class Places:
    """Where a story takes place in one run: names that no other story uses."""

    namespace: str
    group: str

    def put(self, text: str) -> str:
        """Write the names into a text."""
        return text.replace(NAMESPACE, self.namespace).replace(GROUP, self.group)


@dataclass(slots=True)
class Memory:
    """What one server has answered in a story so far."""

    places: Places
    answers: dict[int, Any] = field(default_factory=dict)

    def path(self, operation: Operation) -> str:
        """Give the path of an operation on this server."""

        def value(match: re.Match[str]) -> str:
            found = at_pointer(self.answers.get(int(match[1])), match[2])
            return quote(str(found), safe="") if found is not None else ""

        return self.places.put(_IN_PATH.sub(value, operation.path))

    def document(self, operation: Operation) -> Any:
        """Give the body of an operation on this server."""
        body = self._resolved(operation.body)
        return json.loads(self.places.put(json.dumps(body)))

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        if "$from" in value:
            number, pointer = value["$from"]
            return at_pointer(self.answers.get(number), pointer)
        if "$changed" in value:
            number, patch = value["$changed"]
            return apply_merge_patch(self._object(number), self._resolved(patch))
        resolved = {key: self._resolved(part) for key, part in value.items()}
        asked = {key for key, part in value.items() if isinstance(part, Mapping) and "$from" in part}
        return {key: part for key, part in resolved.items() if part is not None or key not in asked}

    def _object(self, number: int) -> Any:
        answer = self.answers.get(number)
        return answer if isinstance(answer, dict) and answer.get("kind") != "Status" else {}


def at_pointer(value: Any, pointer: str) -> Any:
    """Give what stands at a JSON pointer, or nothing."""
    for part in [piece for piece in pointer.split("/") if piece]:
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(part.replace("~1", "/").replace("~0", "~"))
        else:
            return None
    return value


def uses(operation: Operation) -> dict[str, tuple[int, str]]:
    """Give where the values in an operation come from, by the place at which they stand."""
    found: dict[str, tuple[int, str]] = {}
    _collect(operation.body, "", found)
    for match in _IN_PATH.finditer(operation.path):
        name = operation.path[: match.start()].rpartition("&")[2].rpartition("?")[2].rstrip("=")
        found[f"query:{name}"] = (int(match[1]), match[2])
    return found


def _collect(value: Any, place: str, found: dict[str, tuple[int, str]]) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, f"{place}/{index}", found)
    elif isinstance(value, Mapping):
        if "$from" in value:
            found[place] = (value["$from"][0], value["$from"][1])
        elif "$changed" in value:
            # What an object says about itself is each server's own.
            for pointer in ("/metadata/resourceVersion", "/metadata/managedFields"):
                found[place + pointer] = (value["$changed"][0], pointer)
        else:
            for key, part in value.items():
                _collect(part, f"{place}/{key.replace('~', '~0').replace('/', '~1')}", found)
