"""The changes of a write as a readable YAML diff. Values of Secrets are never shown."""

import difflib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from steersman.json_types import JsonObject
from steersman.protocol.manifests import dump

#: Fields that only the server sets: changes of them are not shown.
_SERVERS_OWN: Final = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp")
_SECRET: Final = ("v1", "Secret")


def difference(name: str, before: JsonObject | None, after: JsonObject | None) -> str:
    """Return the diff between two states of an object, of which one may be missing; empty if nothing changes."""
    hidden = _Hidden(before, after)
    old, new = hidden.text(before), hidden.text(after)
    lines = difflib.unified_diff(old, new, f"{name} (now)", f"{name} (then)", lineterm="")
    return "\n".join(lines)


class _Hidden:
    """Shows the values of Secrets only as equal or not."""

    def __init__(self, before: JsonObject | None, after: JsonObject | None) -> None:
        self._before = dict(_values(before))
        self._after = dict(_values(after))

    def text(self, obj: JsonObject | None) -> list[str]:
        if obj is None:
            return []
        shown = deepcopy(obj)
        for key in _SERVERS_OWN:
            shown.get("metadata", {}).pop(key, None)
        shown.pop("status", None)
        for (field, key), value in _values(shown):
            is_same = self._before.get((field, key)) == self._after.get((field, key))
            shown[field][key] = (
                "***" if is_same else "*** (then)" if self._after.get((field, key)) == value else "*** (now)"
            )
        annotations = shown.get("metadata", {}).get("annotations", {})
        if _is_secret(obj):
            annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
        return dump([_sorted(shown)]).splitlines()


def _sorted(value: object) -> Any:
    """Return all fields in one order: servers respond in different ones, which is not a change."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _is_secret(obj: JsonObject) -> bool:
    return (obj.get("apiVersion"), obj.get("kind")) == _SECRET


def _values(obj: JsonObject | None) -> Iterator[tuple[tuple[str, str], object]]:
    if obj is None or not _is_secret(obj):
        return
    for field in ("data", "stringData"):
        for key, value in (obj.get(field) or {}).items():
            yield (field, key), value
