"""Objects in the form of Kubernetes' internal Go structs: every field, under Go's names, in Go's order.

Error messages of Kubernetes quote such structs or the difference between two of them. Nothing else uses this form.
"""

import difflib
import json
import lzma
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from steersman.apiserver.builtin.common.label_selectors import quoted_selector
from steersman.apiserver.builtin.common.quantities import quantity_text
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject

#: Name in Go, name in JSON, type; a field without names is an embedded struct.
Field = tuple[str, str, str]
#: Fields of a pod's spec in JSON that are fields of the security context in the internal struct.
_MOVED = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


@cache
def _structs() -> dict[str, list[Field]]:
    packed = files("steersman.apiserver").joinpath("data/internal_types.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=dict[str, list[Field]])


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": lambda value: value or 0,
    "string": lambda value: value or "",
    "intstr": lambda value: 0 if value is None else value,
    "quantity": lambda value: quantity_text(value or "0"),
    "selector": quoted_selector,
    "plain": lambda value: value,
    "map": lambda value: value,
    "amounts": lambda value: None if value is None else {name: quantity_text(text) for name, text in value.items()},
}


def _value(kind: str, value: Any) -> object:
    if kind.startswith("[]"):
        return [_value(kind[2:], item) for item in value] if value is not None else None
    if kind.startswith("*"):
        return None if value is None else _value(kind[1:], value)
    make = _SCALARS.get(kind)
    return make(value) if make is not None else internal_form(kind, value or {})


def internal_form(name: str, document: JsonObject) -> GoStruct:
    """Return a document as the named Go struct."""
    form = GoStruct()
    for go_name, wire_name, kind in _structs()[name]:
        if go_name:
            form[go_name] = _value(kind, document.get(wire_name))
        else:
            form.update(internal_form(kind, document))
    return form


def internal_pod_spec(spec: JsonObject) -> GoStruct:
    """Return a pod's spec as the internal Go struct."""
    moved = {name: spec[name] for name in _MOVED if name in spec}
    return internal_form("PodSpec", {**spec, "securityContext": {**(spec.get("securityContext") or {}), **moved}})


def _sorted(value: Any) -> object:
    """Return a value with sorted maps; structs keep the order of their fields."""
    if value.__class__ is GoStruct:
        return {key: _sorted(item) for key, item in value.items()}
    if value.__class__ is dict:
        return {key: _sorted(value[key]) for key in sorted(value)}
    if value.__class__ is list:
        return [_sorted(item) for item in value]
    return value


def difference_text(old: GoStruct, new: GoStruct) -> str:
    """Return the difference between two structs, with three lines around each change."""
    before, after = (json.dumps(_sorted(form), indent=1, ensure_ascii=False).split("\n") for form in (old, new))
    lines = difflib.unified_diff(before, after, n=3, lineterm="")
    return "".join(f"{line}\n" for line in lines if not line.startswith(("--- ", "+++ ")))
