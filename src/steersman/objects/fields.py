"""The fields that a class declares: which names are annotated, and what their types are, on every Python.

Up to Python 3.13 the annotations are in the body of a class. Since 3.14 the body holds a function that evaluates them
(PEP 649), unless the module has ``from __future__ import annotations``, which stores their text on every Python.

A declaration that cannot be read is a `DeclarationError`: a class without its fields would lose data silently.
"""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, get_args, get_origin

from msgspec import Struct, structs

from steersman.errors import DeclarationError

if sys.version_info >= (3, 14):
    import annotationlib

#: What evaluating an annotation may raise: an unknown name, attribute or syntax, or a type that takes no arguments.
UNREADABLE = (NameError, AttributeError, SyntaxError, TypeError)

_CLASS_VARIABLE = re.compile(r"(\w+\.)*ClassVar\b")


def declared_fields(namespace: Mapping[str, object]) -> set[str]:
    """Return the names that a class body annotates as fields: all but dunder names and class variables."""
    return {
        name
        for name, annotation in _annotations_in(namespace).items()
        if not name.startswith("__") and not _is_class_variable(annotation)
    }


def fields_of(model: type[Struct]) -> tuple[structs.FieldInfo, ...]:
    """Return the fields of a class with their types; raise `DeclarationError` for a type that does not exist."""
    try:
        return structs.fields(model)
    except UNREADABLE as error:
        raise unreadable(model, error) from None


def unreadable(model: object, error: Exception) -> DeclarationError:
    """Return the error for a class whose annotations cannot be evaluated: it names the field, and what to do."""
    missing = error.name if isinstance(error, NameError) else None
    if missing is None:
        return DeclarationError(f"{_name(model)}: its fields cannot be read: {error}")
    place = next(_mentions(model, missing, set()), _name(model))
    return DeclarationError(
        f"{place}: the type {missing!r} is not defined when the program runs; import or define it at the top of the "
        "module, not under `if TYPE_CHECKING:` and not inside a function"
    )


def _annotations_in(namespace: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the annotations of a class body; names that are not defined yet stay unresolved."""
    found: Mapping[str, Any] = namespace.get("__annotations__", {})
    if sys.version_info >= (3, 14) and not found:
        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return found


def _is_class_variable(annotation: object) -> bool:
    if isinstance(annotation, str):
        return _CLASS_VARIABLE.match(annotation) is not None
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _mentions(wanted: object, missing: str, seen: set[Any]) -> Iterator[str]:
    """Yield the fields, in a class and in the classes of its fields, whose annotations mention a name."""
    for inner in get_args(wanted):
        yield from _mentions(inner, missing, seen)
    if not isinstance(wanted, type) or not issubclass(wanted, Struct) or wanted in seen:
        return
    seen.add(wanted)
    for owner in wanted.__mro__:
        for name, text in _texts_of(owner).items():
            if re.search(rf"\b{re.escape(missing)}\b", text):
                yield f"{_name(owner)}.{name}"
    try:
        fields = structs.fields(wanted)
    except UNREADABLE:
        return
    for field in fields:
        yield from _mentions(field.type, missing, seen)


def _texts_of(owner: type) -> dict[str, str]:
    """Return the text of every annotation of a class itself."""
    if sys.version_info >= (3, 14):
        return annotationlib.get_annotations(owner, format=annotationlib.Format.STRING)
    return {name: str(annotation) for name, annotation in inspect.get_annotations(owner).items()}


def _name(model: object) -> str:
    return f"{model.__module__}.{model.__qualname__}" if isinstance(model, type) else str(model)
