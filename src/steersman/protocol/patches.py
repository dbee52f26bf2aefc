"""JSON merge patch and JSON patch as the API server applies them, and the patch between two documents.

Documents are what a JSON decoder returns. Nothing here changes its arguments; results share parts with them. The
strategic merge patch needs to know the kind, so it is in the server.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.errors import SteersmanError
from steersman.golang.equality import json_equal, json_identical
from steersman.json_types import JsonObject

#: The API server refuses longer JSON patches.
MAX_JSON_PATCH_OPERATIONS: Final = 10_000
#: What all ``move`` operations may move, each of which copies: moving back and forth must come to an end, too.
MAX_MOVED_BYTES: Final = 48 * 1024 * 1024
#: List elements that all operations of a JSON patch may shift: inserting in front of a long list moves all of it.
MAX_SHIFTED_ELEMENTS: Final = 50_000_000
#: What all ``copy`` operations of a JSON patch may copy: doubling a value again and again must come to an end.
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024

_Container = JsonObject | list[Any]


class PatchError(SteersmanError):
    """A patch cannot be applied to this document; the message has the reason."""


class MalformedPatch(PatchError):  # noqa: N818 - named as the fact, like the rest of the tree
    """The patch is invalid, whatever it is applied to."""


class TestFailed(PatchError):  # noqa: N818 - named as the fact, like the rest of the tree
    """A ``test`` operation of a JSON patch found another value."""


class PatchTooExpensive(PatchError):  # noqa: N818 - named as the fact, like the rest of the tree
    """A JSON patch makes more work than the server does for one request."""


class TooManyOperations(PatchTooExpensive):
    """A JSON patch has more operations than the server accepts; ``count`` is their number."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"The allowed maximum operations in a JSON patch is {MAX_JSON_PATCH_OPERATIONS}, got {count}",
        )
        self.count = count


def apply_merge_patch(doc: object, patch: object) -> object:
    """Return ``doc`` with a merge patch applied: null deletes, objects merge, everything else replaces."""
    if patch.__class__ is not dict:
        return patch
    if doc.__class__ is not dict:
        return _without_nulls(patch)
    result = dict(doc)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif result.get(key) is None:
            result[key] = _without_nulls(value)
        else:
            result[key] = apply_merge_patch(result[key], value)
    return result


def _without_nulls(value: object) -> object:
    """Drop the null members of objects, also of those inside lists; null elements of lists stay."""
    if value.__class__ is dict:
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if value.__class__ is list:
        return [_without_nulls(item) for item in value]
    return value


def merge_patch_between(old: Mapping[str, object], new: Mapping[str, object]) -> JsonObject:
    """Return the smallest merge patch that turns ``old`` into ``new``: null deletes, ``{}`` changes nothing.

    A merge patch cannot set null: a null in ``new`` counts as absent.
    """
    patch: JsonObject = {key: None for key in old if new.get(key) is None and old[key] is not None}
    for key, value in new.items():
        if value is None:
            continue
        before = old.get(key)
        if before.__class__ is dict and value.__class__ is dict:
            if inner := merge_patch_between(before, value):
                patch[key] = inner
        elif not json_equal(before, value):
            patch[key] = value
    return patch


def json_patch_between(old: object, new: object) -> list[JsonObject]:
    """Return JSON patch operations that turn ``old`` into ``new``, in the order in which they must be applied."""
    return list(_operations("", old, new))


def _operations(path: str, old: object, new: object) -> Iterator[JsonObject]:
    if old.__class__ is dict and new.__class__ is dict:
        yield from _map_operations(path, old, new)
    elif old.__class__ is list and new.__class__ is list:
        yield from _list_operations(path, old, new)
    elif not json_identical(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _map_operations(path: str, old: JsonObject, new: JsonObject) -> Iterator[JsonObject]:
    for key in old:
        if key not in new:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in new.items():
        below = f"{path}/{_escaped(key)}"
        if key in old:
            yield from _operations(below, old[key], value)
        else:
            yield {"op": "add", "path": below, "value": value}


def _list_operations(path: str, old: list[object], new: list[object]) -> Iterator[JsonObject]:
    shared = min(len(old), len(new))
    for index in range(shared):
        yield from _operations(f"{path}/{index}", old[index], new[index])
    # From the end, so that the indexes of the remaining items stay valid.
    for index in range(len(old) - 1, shared - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for value in new[shared:]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def apply_json_patch(doc: object, operations: object) -> Any:
    """Return ``doc`` with a JSON patch applied, as leniently as the API server does; all or nothing.

    ``replace`` of a missing key adds it, ``copy`` of a missing key copies null, indexes may be negative, a missing
    value is null, what stands before the first slash of a path is ignored, and null is the empty patch.
    ``test`` compares as written: decode the patch without turning ``1.0`` into ``1``.
    """
    if operations is None:
        return doc
    if operations.__class__ is not list:
        raise MalformedPatch("a JSON patch is a list of operations")
    if len(operations) > MAX_JSON_PATCH_OPERATIONS:
        raise TooManyOperations(len(operations))
    if not all(operation.__class__ is dict for operation in operations):
        raise MalformedPatch("an operation of a JSON patch is an object")
    draft = _Draft(doc)
    for operation in operations:
        kind = operation.get("op")
        apply = _OPERATIONS.get(kind) if kind.__class__ is str else None
        if apply is None:
            raise PatchError(f"unexpected kind of operation: {kind!r}")
        apply(draft, operation)
    return draft.root


class _Draft:
    """A document of which only the changed parts are copied, each once."""

    __slots__ = ("_copied_bytes", "_moved_bytes", "_own", "_shifted", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        #: Containers made by this draft, by identity; keeping them alive keeps the identities unique.
        self._own: dict[int, _Container] = {}
        self._copied_bytes = 0
        self._moved_bytes = 0
        self._shifted = 0

    def copied(self, value: object) -> object:
        """Return a deep copy: the draft may write in place at the source. The total size of copies is limited."""
        text = msgspec.json.encode(value)
        self._copied_bytes += len(text)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise PatchError(f"the operations copy more than {MAX_COPIED_BYTES} bytes")
        return msgspec.json.decode(text)

    def moved(self, value: object) -> object:
        """Return a deep copy of what moves to another place."""
        text = msgspec.json.encode(value)
        self._moved_bytes += len(text)
        if self._moved_bytes > MAX_MOVED_BYTES:
            raise PatchTooExpensive(f"the operations move more than {MAX_MOVED_BYTES} bytes")
        return msgspec.json.decode(text)

    def parent(self, path: str) -> tuple[_Container, str]:
        """Return the container that holds the end of a path, ready to be written, and the last segment."""
        segments = path.split("/")
        if len(segments) < 2:  # noqa: PLR2004 - a path with no slash names nothing
            raise PatchError(f"path {path!r} names no member")
        self.root = here = self._writable(self.root)
        for segment in segments[1:-1]:
            key = _unescaped(segment)
            below = self._writable(_get(here, key))
            _put(here, key, below)
            here = below
        return here, _unescaped(segments[-1])

    def insert(self, container: _Container, key: str, value: object) -> None:
        """Insert a new member into an object or a list."""
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            index = _index(key, len(container) + 1)
            self._shift(len(container) - index)
            container.insert(index, value)

    def delete(self, container: _Container, key: str) -> None:
        """Remove a member from an object or a list."""
        if isinstance(container, dict):
            if key not in container:
                raise PatchError(f"nothing to remove at {key!r}")
            del container[key]
        else:
            index = _index(key, len(container))
            self._shift(len(container) - index)
            del container[index]

    def _shift(self, elements: int) -> None:
        self._shifted += elements
        if self._shifted > MAX_SHIFTED_ELEMENTS:
            raise PatchTooExpensive(f"the operations shift more than {MAX_SHIFTED_ELEMENTS} elements of lists")

    def _writable(self, value: object) -> _Container:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("the path leads through a value that has no members")
        if id(value) in self._own:
            return value
        copy: _Container = value.copy()
        self._own[id(copy)] = copy
        return copy


def _unescaped(segment: str) -> str:
    return segment.replace("~1", "/").replace("~0", "~")


def _index(key: str, length: int) -> int:
    digits = key[1:] if key[:1] in ("+", "-") else key
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:  # noqa: PLR2004 - beyond any list's length
        raise PatchError(f"not an index: {key!r}")
    index = int(key)
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise PatchError(f"index {key} is out of range")
    return index


def _get(container: _Container, key: str) -> object:
    """Read a member; a missing key of an object reads as null."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _put(container: _Container, key: str, value: object) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def _pointer(operation: Mapping[str, object], member: str) -> str:
    path = operation.get(member)
    if path.__class__ is not str:
        raise PatchError(f"the operation has no {member}")
    return path


def _add(draft: _Draft, operation: Mapping[str, object]) -> None:
    container, key = draft.parent(_pointer(operation, "path"))
    draft.insert(container, key, operation.get("value"))


def _remove(draft: _Draft, operation: Mapping[str, object]) -> None:
    container, key = draft.parent(_pointer(operation, "path"))
    draft.delete(container, key)


def _replace(draft: _Draft, operation: Mapping[str, object]) -> None:
    path, value = _pointer(operation, "path"), operation.get("value")
    if path:
        container, key = draft.parent(path)
        _put(container, key, value)
    elif value.__class__ in (dict, list):
        draft.root = value
    else:
        raise PatchError("a whole document can only be replaced by an object or a list")


def _move(draft: _Draft, operation: Mapping[str, object]) -> None:
    source, key = draft.parent(_pointer(operation, "from"))
    # A copy: what moves must not be shared with the given document, in which it stays.
    value = draft.moved(_get(source, key))
    draft.delete(source, key)
    container, key = draft.parent(_pointer(operation, "path"))
    draft.insert(container, key, value)


def _copy(draft: _Draft, operation: Mapping[str, object]) -> None:
    source, key = draft.parent(_pointer(operation, "from"))
    value = draft.copied(_get(source, key))
    container, key = draft.parent(_pointer(operation, "path"))
    draft.insert(container, key, value)


def _test(draft: _Draft, operation: Mapping[str, object]) -> None:
    path = _pointer(operation, "path")
    if path:
        container, key = draft.parent(path)
        actual = _get(container, key)
    else:
        actual = draft.root
    if not json_identical(actual, operation.get("value")):
        raise TestFailed(f"test of {path!r} failed")


_OPERATIONS: Final[dict[str, Callable[[_Draft, Mapping[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
