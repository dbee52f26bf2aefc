"""Whether a configuration fits its type, and which paths it sets."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from steersman.apiserver import go_text
from steersman.apiserver.managed_fields.field_set import LEAF, Fields
from steersman.apiserver.managed_fields.field_types import FieldType, ListType, MapType
from steersman.apiserver.managed_fields.path_element import display


class TypeMismatch(Exception):  # noqa: N818 - named as the fact, like the rest of the tree
    """A configuration does not fit its type; the message lists every place, as the API server words it."""


def fits(value: Any, kind: FieldType) -> bool:
    """Tell whether a value fits its type; unlike in a configuration, items of lists may be there twice."""
    return all(message.startswith(_DUPLICATE) for _, message in _errors(value, kind))


def check_type(value: Any, kind: FieldType) -> None:
    """Raise TypeMismatch unless a configuration fits its type; lists with keys may not have duplicates."""
    errors = [f"{path}: {message}" for path, message in _errors(value, kind)]
    if len(errors) == 1:
        raise TypeMismatch(errors[0])
    if errors:
        raise TypeMismatch("\n".join(["errors:", *(f"  {error}" for error in errors)]))


_Errors = Iterator[tuple[str, str]]
_DUPLICATE: Final = "duplicate entries for key"


def _errors(value: Any, kind: FieldType) -> _Errors:
    branch = kind.branch_of(value)
    if value is None:
        return
    if isinstance(branch, MapType):
        yield from _map_errors(value, branch)
    elif isinstance(branch, ListType):
        yield from _list_errors(value, branch)
    else:
        is_valid, complaint = _SCALAR_CHECKS[branch]
        if not is_valid(value):
            yield "", complaint(value)


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


_SCALAR_CHECKS: Final[dict[str, tuple[Callable[[Any], bool], Callable[[Any], str]]]] = {
    "numeric": (_is_number, lambda value: f"expected numeric (int or float), got {go_text.type_name(value)}"),
    "string": (
        lambda value: value.__class__ is str,
        lambda value: f"expected string, got &value.valueUnstructured{{Value:{go_text.syntax(value)}}}",
    ),
    "boolean": (
        lambda value: value.__class__ is bool,
        lambda value: f"expected boolean, got &{{{go_text.plain(value)}}}",
    ),
    "untyped": (
        lambda value: value.__class__ is not dict and value.__class__ is not list,
        lambda value: f"expected any scalar, got &{{{go_text.plain(value)}}}",
    ),
}


def _map_errors(value: Any, branch: MapType) -> _Errors:
    if value.__class__ is not dict:
        yield "", f"expected map, got &{{{go_text.plain(value)}}}"
        return
    for key, below in value.items():
        kind = branch.fields.get(key) or branch.element
        if kind is None:
            # Checking stops at the first undeclared field of an object.
            yield f".{key}", "field not declared in schema"
            return
        for path, message in _errors(below, kind):
            yield f".{key}{path}", message


def _list_errors(value: Any, branch: ListType) -> _Errors:
    if value.__class__ is not list:
        yield "", f"expected list, got &{{{go_text.plain(value)}}}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"[{index}]"
        if not branch.is_atomic:
            try:
                element = branch.element_of(item)
            except ValueError as error:
                yield "", f"element {index}: {error}"
                return
            step = display(element)
            if element in seen:
                yield "", f"{_DUPLICATE} {step}"
            seen.add(element)
        for path, message in _errors(item, branch.element):
            yield step + path, message


def fields_of(value: Any, kind: FieldType) -> Fields:
    """Give the paths that an object sets: what an applier owns of its configuration."""
    return _node(value, kind) or {}


def _node(value: Any, kind: FieldType) -> Fields | None:
    """Give the node of a value; ``None`` if neither its own path nor one below is set."""
    branch = kind.branch_of(value)
    if isinstance(branch, str) or branch.is_atomic:
        return LEAF
    if isinstance(branch, MapType):
        return _map_node(value, branch) if value.__class__ is dict else None
    return _list_node(value, branch) if value.__class__ is list else None


def _map_node(value: dict[str, Any], branch: MapType) -> Fields | None:
    result: Fields = {}
    for key, below in value.items():
        kind = branch.fields.get(key)
        node = _node(below, kind or branch.type_of(key))
        if kind is None or below is None or (below.__class__ is dict and not below):
            result["f:" + key] = {".": LEAF, **node} if node else LEAF
        elif node is not None:
            result[branch.names[key]] = node
    return result or None


def _list_node(value: list[Any], branch: ListType) -> Fields | None:
    result: Fields = {}
    seen: set[str] = set()
    for item in value:
        element = branch.element_of(item)
        node = None if element in seen else _node(item, branch.element)
        seen.add(element)
        result[element] = {".": LEAF, **node} if node else LEAF
    return result or None
