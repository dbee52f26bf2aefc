"""Strategic merge patch: a merge patch that knows which lists of a built-in kind have keys.

Directives in the patch steer it: ``$patch``, ``$retainKeys``, ``$setElementOrder/<list>``,
``$deleteFromPrimitiveList/<list>``. The rules, the order of merged lists and the messages are those of the API server,
odd ones included: without ``$setElementOrder`` new items stand first, and a replacing item replaces its whole list.
"""

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any, Final

import msgspec

from steersman.apiserver.builtin.types import Schema, definition_of, load_types, resolve
from steersman.golang import text as go_text
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.patches import MalformedPatch, PatchError

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_DROPPED: Final[Any] = object()
_Map = JsonObject


class StrategicPatchError(PatchError):
    """A strategic merge patch does not fit the object or contradicts itself; the message is the server's."""


def apply_strategic_merge_patch(doc: _Map, patch: object, gvk: GroupVersionKind) -> _Map:
    """Return an object of a built-in kind with a strategic merge patch applied; the object itself is not changed."""
    if patch is None:
        return doc
    if patch.__class__ is not dict:
        raise MalformedPatch(
            f"json: cannot unmarshal {_json_kind(patch)} into Go value of type map[string]interface {{}}",
        )
    return _merge_maps(doc, patch, load_types()[definition_of(gvk)])


def _json_kind(value: object) -> str:
    return {list: "array", str: "string", bool: "bool"}.get(value.__class__, "number")


def _merge_maps(original: Mapping[str, object], patch: Mapping[str, object], schema: Schema) -> _Map:
    if _DIRECTIVE in patch:
        return _directed(patch)
    result, rest = dict(original), dict(patch)
    if _RETAIN_KEYS in rest:
        _retain_keys(result, rest, rest.pop(_RETAIN_KEYS))
    for key in [key for key in rest if key.startswith(_ORDER)]:
        _merge_ordered_list(result, rest, key, schema)
    for key, value in rest.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(result, _list_name(key, _DELETE_FROM), value)
        elif value is None:
            result.pop(key, None)
        elif (merged := _merged_member(result, key, value, schema)) is not _DROPPED:
            result[key] = merged
    return result


def _directed(patch: Mapping[str, object]) -> _Map:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: object, patch: Mapping[str, object]) -> StrategicPatchError:
    return StrategicPatchError(f"unknown patch type: {go_text.plain(directive)} in map: {go_text.plain(patch)}")


def _merged_member(original: _Map, key: str, value: object, schema: Schema) -> object:
    if key not in original:
        return _without_directives(_without_nulls(value))
    if original[key].__class__ is not value.__class__:
        return _without_directives(_without_nulls(value))
    before = original[key]
    if value.__class__ is dict:
        field = _field(schema, key)
        return value if _strategy(field) == "replace" else _merge_maps(before, value, resolve(field))
    if value.__class__ is list:
        return _merge_list_field(before, value, _field(schema, key))
    return value


def _without_nulls(value: object) -> object:
    if value.__class__ is dict:
        return {key: _without_nulls(below) for key, below in value.items() if below is not None}
    if value.__class__ is list:
        return [_without_nulls(item) for item in value]
    return value


def _without_directives(value: object) -> Any:
    """Remove objects with a directive from a value that is new: there is nothing that the directive could apply to."""
    if value.__class__ is dict:
        if _DIRECTIVE in value:
            return _DROPPED
        members = {key: _without_directives(below) for key, below in value.items()}
        return {key: below for key, below in members.items() if below is not _DROPPED}
    if value.__class__ is list:
        return [item for item in map(_without_directives, value) if item is not _DROPPED]
    return value


def _field(schema: Schema, key: str) -> Schema:
    properties = schema.get("properties")
    if properties is None:
        raise StrategicPatchError("merging an object in json but data type is not struct, instead is: map")
    if key not in properties:
        raise StrategicPatchError(f'unable to find api field in struct for the json field "{key}"')
    found: Schema = properties[key]
    return found


def _strategy(field: Schema) -> str:
    strategies = str(field.get("x-kubernetes-patch-strategy", "")).split(",")
    return next((strategy for strategy in strategies if strategy != "retainKeys"), "")


def _retain_keys(original: _Map, patch: _Map, names: object) -> None:
    """Remove keys that the directive does not list; the patch may not set others."""
    if names.__class__ is not list:
        raise MalformedPatch("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _ORDER)) and key not in names:
            raise MalformedPatch("invalid patch format of retainKeys")
    for key in [key for key in original if key not in names]:
        del original[key]


def _list_name(directive: str, prefix: str) -> str:
    found, slash, name = directive.partition("/")
    if found != prefix or not slash:
        kind = "setElementOrder" if prefix == _ORDER else "primitive"
        raise StrategicPatchError(f"invalid patch format of {kind} list")
    return name


def _delete_from(original: _Map, name: str, values: object) -> None:
    before = original.get(name)
    if before.__class__ is list and values.__class__ is list:
        unwanted = set(map(_identity, values))
        original[name] = [item for item in before if _identity(item) not in unwanted]


def _identity(value: object) -> Hashable:
    """Return a key that is equal for equal JSON values; as in Go, an integer never equals a float."""
    if value.__class__ is dict or value.__class__ is list:
        return msgspec.json.encode(value, order="sorted")
    return value.__class__, value


def _as_list(value: object) -> list[Any]:
    if value.__class__ is not list:
        received = "%!s(<nil>)" if value is None else go_text.type_name(value)
        raise StrategicPatchError(f"expected a []interface {{}}, but received a {received}")
    return value


def _merge_ordered_list(original: _Map, patch: _Map, directive: str, schema: Schema) -> None:
    """Merge one list and sort it as the patch asks; removes the list and its order from the patch."""
    order = _as_list(patch.pop(directive))
    name = _list_name(directive, _ORDER)
    before = _as_list(original[name]) if name in original else None
    changes = _as_list(patch[name]) if name in patch else None
    field = _field(schema, name)
    merge_key = field.get("x-kubernetes-patch-merge-key", "")
    _check_order(changes or [], order, merge_key)
    if before is None and changes is None:
        return
    if before is None or changes is None:
        merged: list[Any] = before if before is not None else _without_directives(changes)
    else:
        merged = _merge_list_field(before, changes, field)
    is_keyed = _is_list_of_maps(before or [], changes or [])
    original[name] = _Order(merge_key if is_keyed else "", order, before or []).sorted(merged, merge_key)
    patch.pop(name, None)


def _check_order(changes: list[Any], order: list[object], merge_key: str) -> None:
    """Reject a patch whose items are missing from its own order or sorted differently."""
    if not changes or not order:
        return
    waiting = [item for item in changes if not (merge_key and _as_map(item).get(_DIRECTIVE) == "delete")]
    for other in order:
        # Items with a directive do not occur in the order, so they are skipped; but, as in Kubernetes, not at its end.
        while waiting and merge_key and _DIRECTIVE in waiting[0]:
            waiting.pop(0)
        if waiting and _same(waiting[0], other, merge_key):
            waiting.pop(0)
    if waiting:
        raise StrategicPatchError(
            f"The order in patch list:\n{go_text.plain(changes)}\n"
            f" doesn't match {_ORDER} list:\n{go_text.plain(order)}\n"
        )


def _as_map(item: object) -> _Map:
    if item.__class__ is not dict:
        raise StrategicPatchError(f"expected a map[string]interface {{}}, but received a {go_text.type_name(item)}")
    return item


def _key_value(item: Any, merge_key: str) -> object:
    if not merge_key:
        return item
    if merge_key not in _as_map(item):
        raise StrategicPatchError(f"map: {go_text.plain(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _same(left: object, right: object, merge_key: str) -> bool:
    return _identity(_key_value(left, merge_key)) == _identity(_key_value(right, merge_key))


def _merge_list_field(before: list[object], changes: list[object], field: Schema) -> list[Any]:
    if _strategy(field) != "merge":
        return changes
    if not before and not changes:
        return before
    if not _is_list_of_maps(before, changes):
        merged = list({_identity(item): item for item in (*before, *changes)}.values())
        return _Order("", changes, before).sorted(merged, "")
    merge_key = field.get("x-kubernetes-patch-merge-key", "")
    if not merge_key:
        raise StrategicPatchError("cannot merge lists without merge key")
    before, changes = _special_items(before, changes, merge_key)
    merged = _merge_items(before, changes, merge_key, resolve(field["items"]))
    return _Order(merge_key, changes, before).sorted(merged, merge_key)


def _is_list_of_maps(before: list[object], changes: list[object]) -> bool:
    """Return whether two lists contain objects; all items of both must have one type."""
    kinds = {item.__class__ for item in before + changes}
    if len(kinds) > 1:
        raise StrategicPatchError(f"list element types are not identical: {go_text.plain([before, changes])}")
    if not kinds:
        raise StrategicPatchError("no elements in any of the given slices")
    if list in kinds:
        raise StrategicPatchError("lists of lists are not supported")
    return dict in kinds


def _special_items(before: list[Any], changes: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Apply the directives among the items; return the remaining items of both lists."""
    plain = [item for item in changes if _DIRECTIVE not in item]
    is_replaced = False
    deleted = set()
    for item in changes:
        directive = item.get(_DIRECTIVE, "")
        if directive == "delete":
            deleted.add(_identity(_key_value(item, merge_key)))
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise StrategicPatchError("merging lists cannot yet be specified in the patch")
        elif _DIRECTIVE in item:
            raise _unknown_directive(directive, item)
    if is_replaced:
        return plain, []
    return [item for item in before if _identity(item.get(merge_key)) not in deleted], plain


def _merge_items(before: list[Any], changes: list[Any], merge_key: str, schema: Schema) -> list[Any]:
    merged = list(before)
    places: dict[Hashable, int] = {}
    for place, item in enumerate(merged):
        places.setdefault(_identity(item.get(merge_key)), place)
    for item in changes:
        place = places.setdefault(_identity(_key_value(item, merge_key)), len(merged))
        if place < len(merged):
            merged[place] = _merge_maps(merged[place], item, schema)
        else:
            merged.append(item)
    return merged


class _Order:
    """The order of a merged list: items of the patch as the patch sorts them, other items where they were."""

    def __init__(self, merge_key: str, wanted: list[object], before: list[object]) -> None:
        self._merge_key = merge_key
        self._wanted = wanted
        self._before = before
        self._rank_before = self._ranks(before, merge_key)

    @staticmethod
    def _ranks(items: list[object], merge_key: str) -> dict[Hashable, int]:
        """Return the index of each item by its identity, for equal items that of the first."""
        result: dict[Hashable, int] = {}
        for place, item in enumerate(items):
            value = item.get(merge_key) if merge_key and item.__class__ is dict else item
            result.setdefault(_identity(value), place)
        return result

    def _rank(self, ranks: dict[Hashable, int], item: Any) -> int:
        value = item.get(self._merge_key) if self._merge_key else item
        return ranks.get(_identity(value), -1)

    def sorted(self, merged: list[object], merge_key: str) -> list[Any]:
        """Return the items in order; ``merge_key`` tells which of them belong to the patch."""
        wanted = self._ranks(self._wanted, merge_key)
        mine: list[Any] = []
        others: list[Any] = []
        for item in merged:
            (mine if _identity(_key_value(item, merge_key)) in wanted else others).append(item)
        return self._interleaved(self._by(others, self._before), self._by(mine, self._wanted))

    def _by(self, items: list[object], order: list[object]) -> list[Any]:
        """Sort by another list; an item that is not in it moves before all earlier ones."""
        if self._merge_key:
            for item in (*items, *order):
                _key_value(item, self._merge_key)
        ranks = self._ranks(order, self._merge_key)
        if all(self._rank(ranks, item) >= 0 for item in items):
            return sorted(items, key=lambda item: self._rank(ranks, item))
        return self._with_strangers(items, ranks)

    def _with_strangers(self, items: list[object], ranks: dict[Hashable, int]) -> list[Any]:
        result: list[Any] = []
        for item in items:
            place, rank = len(result), self._rank(ranks, item)
            while place and self._is_before(rank, self._rank(ranks, result[place - 1])):
                place -= 1
            result.insert(place, item)
        return result

    @staticmethod
    def _is_before(rank: int, other: int) -> bool:
        return rank < other if rank >= 0 and other >= 0 else True

    def _interleaved(self, others: list[object], mine: list[object]) -> list[Any]:
        """Insert the other items between those of the patch, by the indexes that both had before."""
        result: list[Any] = []
        waiting = deque(mine)
        for item in others:
            rank = self._rank(self._rank_before, item)
            while waiting and not 0 <= rank < self._rank(self._rank_before, waiting[0]):
                result.append(waiting.popleft())
            result.append(item)
        return [*result, *waiting]
