"""Whether a configuration fits its type, and which paths it sets."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from steersman.apiserver.managed_fields.field_set import LEAF, Fields
from steersman.apiserver.managed_fields.field_types import FieldType, ListType, MapType
from steersman.apiserver.managed_fields.path_element import display
from steersman.golang import text as go_text
from steersman.json_types import JsonObject


class TypeMismatch(Exception):  # noqa: N818 - named as the fact, like the rest of the tree
    """A configuration does not fit its type; the message lists every place, as the API server words it."""


def fits(value: object, kind: FieldType) -> bool:
    """Return whether a value fits its type; unlike a configuration it may have duplicate items in lists.

    Asked at every write, of the object before and after: so it gives no reasons and makes nothing.
    """
    if value is None:
        return True
    branch = kind.branch_of(value)
    if branch.__class__ is str:
        return value.__class__ in _SCALAR_CLASSES[branch]
    if branch.__class__ is MapType:
        return value.__class__ is dict and _map_fits(value, branch)
    return isinstance(branch, ListType) and value.__class__ is list and _list_fits(value, branch)


_SCALAR_CLASSES: Final[dict[str, frozenset[type]]] = {
    "numeric": frozenset({int, float}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "untyped": frozenset({int, float, str, bool}),
}


def _map_fits(value: JsonObject, branch: MapType) -> bool:
    declared, other = branch.fields, branch.element
    for key, below in value.items():
        kind = declared.get(key) or other
        if kind is None or not fits(below, kind):
            return False
    return True


def _list_fits(value: list[object], branch: ListType) -> bool:
    kind = branch.element
    try:
        for item in value:
            if not branch.is_atomic:
                branch.element_of(item)
            if not fits(item, kind):
                return False
    except ValueError:
        return False
    return True


def checked_fields_of(config: object, kind: FieldType) -> Fields:
    """Return the paths that a configuration sets; raise TypeMismatch unless it fits its type.

    Lists with keys may not have duplicates.
    """
    try:
        return _node(config, kind, _CHECKED) or {}
    except _MisfitError:
        raise TypeMismatch(explanation(config, kind)) from None


def explanation(value: object, kind: FieldType) -> str:
    """Return why a value does not fit its type, in the words of kube-apiserver."""
    errors = [f"{path}: {message}" for path, message in _errors(value, kind)]
    return errors[0] if len(errors) == 1 else "\n".join(["errors:", *(f"  {error}" for error in errors)])


_Errors = Iterator[tuple[str, str]]


def _errors(value: object, kind: FieldType) -> _Errors:
    branch = kind.branch_of(value)
    if value is None:
        return
    if isinstance(branch, MapType):
        yield from _map_errors(value, branch)
    elif isinstance(branch, ListType):
        yield from _list_errors(value, branch)
    elif value.__class__ not in _SCALAR_CLASSES[branch]:
        yield "", _COMPLAINTS[branch](value)


_COMPLAINTS: Final[dict[str, Callable[[Any], str]]] = {
    "numeric": lambda value: f"expected numeric (int or float), got {go_text.type_name(value)}",
    "string": lambda value: f"expected string, got &value.valueUnstructured{{Value:{go_text.syntax(value)}}}",
    "boolean": lambda value: f"expected boolean, got &{{{go_text.plain(value)}}}",
    "untyped": lambda value: f"expected any scalar, got &{{{go_text.plain(value)}}}",
}


def _map_errors(value: object, branch: MapType) -> _Errors:
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


def _list_errors(value: object, branch: ListType) -> _Errors:
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
                yield "", f"duplicate entries for key {step}"
            seen.add(element)
        for path, message in _errors(item, branch.element):
            yield step + path, message


def atomic_paths(value: object, kind: FieldType, path: str = "") -> list[str]:
    """Return the paths of all atomic lists, maps and structs in a configuration that fits its type."""
    branch = kind.branch_of(value)
    if value.__class__ not in (dict, list) or isinstance(branch, str):
        return []
    found = [path] if branch.is_atomic else []
    if isinstance(branch, MapType) and value.__class__ is dict:
        for key, below in value.items():
            if (declared := branch.fields.get(key)) is not None:
                found += atomic_paths(below, declared, f"{path}.{key}")
    elif isinstance(branch, ListType) and value.__class__ is list:
        for index, item in enumerate(value):
            found += atomic_paths(item, branch.element, f"{path}[{index}]")
    return found


class _MisfitError(Exception):
    """A value does not fit its type; all errors are collected afterwards."""


_UNCHECKED, _CHECKED = False, True


def fields_of(value: object, kind: FieldType) -> Fields:
    """Return the paths that an object sets: what a manager owns of the configuration that it applies."""
    return _node(value, kind, _UNCHECKED) or {}


def _node(value: object, kind: FieldType, checked: bool) -> Fields | None:
    """Return the node of a value; ``None`` if neither its own path nor one below is set."""
    branch = kind.branch_of(value)
    if isinstance(branch, str):
        if checked and value is not None and value.__class__ not in _SCALAR_CLASSES[branch]:
            raise _MisfitError
        return LEAF
    if checked and value is not None and not _is_container_of(value, branch):
        raise _MisfitError
    if branch.is_atomic:
        return LEAF
    if isinstance(branch, MapType):
        return _map_node(value, branch, checked) if value.__class__ is dict else None
    return _list_node(value, branch, checked) if value.__class__ is list else None


def _is_container_of(value: object, branch: MapType | ListType) -> bool:
    """Return whether a value has the type of its branch; atomic values are not checked anywhere else."""
    if value.__class__ is not (dict if branch.__class__ is MapType else list):
        return False
    return not branch.is_atomic or not any(_ATOMIC_ERRORS[branch.__class__](value, branch))


_ATOMIC_ERRORS: Final[dict[type, Callable[[Any, Any], _Errors]]] = {MapType: _map_errors, ListType: _list_errors}


def _map_node(value: JsonObject, branch: MapType, checked: bool) -> Fields | None:
    result: Fields = {}
    for key, below in value.items():
        kind = branch.fields.get(key)
        if checked and kind is None and branch.element is None:
            raise _MisfitError
        node = _node(below, kind or branch.type_of(key), checked)
        if kind is None or below is None or (below.__class__ is dict and not below):
            result["f:" + key] = {".": LEAF, **node} if node else LEAF
        elif node is not None:
            result[branch.names[key]] = node
    return result or None


def _list_node(value: list[object], branch: ListType, checked: bool) -> Fields | None:
    result: Fields = {}
    for item in value:
        try:
            element = branch.element_of(item)
        except ValueError:
            if checked:
                raise _MisfitError from None
            raise
        if element not in result:
            node = _node(item, branch.element, checked)
            result[element] = {".": LEAF, **node} if node else LEAF
        elif checked:
            raise _MisfitError
        else:
            result[element] = LEAF
    return result or None
