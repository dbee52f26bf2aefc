"""One API operation as data: it can be sent to any server, written to a file, or left out of a scenario.

A document may contain values that only a server can generate. They are written as ``{"$from": [operation, pointer]}``
and ``{"$changed": [operation, merge patch]}``, and resolved from earlier answers of that server; in a path as
``{operation:pointer}``. A value that no answer contained is left out.
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
    """A request; ``number`` identifies it in the scenario."""

    number: int
    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    #: A watch is read until an event about this object.
    until: str = ""
    #: The collection of custom resources that must be served before the scenario continues.
    serves: str = ""
    #: The collection has other objects, too; only those whose names have this prefix are compared.
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
    """Return the resource of a path, the name of the object, and the subresource."""
    found = _TARGET.fullmatch(path)
    return (found["resource"], found["name"], found["part"]) if found else ("", "", "")


@dataclass(slots=True)
class Places:
    """The names that one run of a scenario uses, and no other."""

    namespace: str
    group: str

    def put(self, text: str) -> str:
        """Replace the placeholders in a text by the names."""
        return text.replace(NAMESPACE, self.namespace).replace(GROUP, self.group)


@dataclass(slots=True)
class Answers:
    """The answers of one server in a scenario so far."""

    places: Places
    answers: dict[int, Any] = field(default_factory=dict)

    def path(self, operation: Operation) -> str:
        """Return the path of an operation on this server."""

        def value(match: re.Match[str]) -> str:
            found = at_pointer(self.answers.get(int(match[1])), match[2])
            return quote(str(found), safe="") if found is not None else ""

        return self.places.put(_IN_PATH.sub(value, operation.path))

    def document(self, operation: Operation) -> Any:
        """Return the body of an operation on this server."""
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
    """Return the value at a JSON pointer, or None."""
    for part in [piece for piece in pointer.split("/") if piece]:
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(part.replace("~1", "/").replace("~0", "~"))
        else:
            return None
    return value


def uses(operation: Operation) -> dict[str, tuple[int, str]]:
    """Yield the sources of the values in an operation, with the place of each value."""
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
            # Each server generates these fields of an object itself.
            for pointer in ("/metadata/resourceVersion", "/metadata/managedFields"):
                found[place + pointer] = (value["$changed"][0], pointer)
        else:
            for key, part in value.items():
                _collect(part, f"{place}/{key.replace('~', '~0').replace('/', '~1')}", found)
