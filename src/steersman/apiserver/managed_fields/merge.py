"""A configuration merged into a live object: the configuration wins at leaves, the rest of the object stays."""

from collections import deque
from typing import Any

from steersman.apiserver.managed_fields.field_types import FieldType, ListType, MapType
from steersman.json_types import JsonObject


def merge(live: object, config: object, kind: FieldType) -> Any:
    """Return a live value with a configuration merged into it.

    Raises ValueError where a list has an item without a path element.
    """
    # Whatever the live value is, the branch that the configuration picks decides.
    branch = kind.branch_of(config)
    if isinstance(branch, MapType):
        if not branch.is_atomic:
            return _merge_maps(live, config, branch)
    elif isinstance(branch, ListType) and not branch.is_atomic:
        return _merge_lists(live, config, branch)
    return config


def _merge_maps(live: object, config: object, branch: MapType) -> object:
    if live.__class__ is not dict or not live:
        return config
    result = dict(live)
    if config.__class__ is dict:
        for key, value in config.items():
            before = live.get(key)
            if before is not None and (value is None or value.__class__ is dict or value.__class__ is list):
                kind = branch.fields.get(key) or branch.type_of(key)
                # Existing values keep their identity, so that comparing them later is cheap.
                value = before if before == value and kind.is_tight else merge(before, value, kind)
            result[key] = value
    return result


def _merge_lists(live: object, config: object, branch: ListType) -> object:
    if live.__class__ is not list or not live:
        return config
    return _ListMerge(live, config if config.__class__ is list else [], branch).result()


class _ListMerge:
    """Merges two lists whose items are told apart by path elements.

    Shared items come in the configuration's order; items that only the live list has keep their place among them.
    """

    def __init__(self, live: list[object], config: list[object], branch: ListType) -> None:
        self._branch = branch
        self._live = live
        self._live_elements = [branch.element_of(item) for item in live]
        self._new_elements = [branch.element_of(item) for item in config]
        self._mine = dict(zip(self._new_elements, config, strict=True))
        self._theirs: JsonObject = {}
        for element, item in zip(self._live_elements, live, strict=True):
            # Duplicates are not merged with what replaces them.
            self._theirs[element] = None if element in self._theirs else item
        #: Path elements on both sides that are still to come, in the configuration's order.
        self._shared = deque(element for element in self._new_elements if element in self._theirs)
        self._done: set[str] = set()
        self._left = self._right = 0
        self._merged: list[Any] = []

    def result(self) -> list[Any]:
        while self._left < len(self._live_elements) or self._right < len(self._new_elements):
            if self._left < len(self._live_elements) and self._advance(self._live_elements[self._left]):
                continue
            if self._right < len(self._new_elements):
                self._take()
        return self._merged

    def _advance(self, element: str) -> bool:
        """Deal with the next live item; ``False`` if it is the configuration's turn."""
        if element not in self._mine:
            self._merged.append(self._live[self._left])
            self._left += 1
            return True
        if self._right < len(self._new_elements):
            if element == self._new_elements[self._right]:
                self._left += 1
                self._take()
                return True
            if self._shared and self._shared[0] != element:
                # Shared, but another one comes first.
                self._left += 1
                return True
        if element in self._done:
            self._left += 1
        return False

    def _take(self) -> None:
        """Take the configuration's next item, merged with its live partner if there is one."""
        element = self._new_elements[self._right]
        self._right += 1
        self._done.add(element)
        if self._shared and self._shared[0] == element:
            self._shared.popleft()
        item = self._mine[element]
        if element in self._theirs:
            item = merge(self._theirs[element], item, self._branch.element)
        self._merged.append(item)
