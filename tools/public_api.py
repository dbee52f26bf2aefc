"""The public names and their signatures, one in a line: ``python -m tools.public_api`` writes ``docs/public-api.txt``.

A test compares the file with the code: a change of a public name is seen in a review, and must be in the CHANGELOG.
"""

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import structs

from tools.site.reference import public_packages

SNAPSHOT = Path(__file__).parents[1] / "docs" / "public-api.txt"


def lines() -> list[str]:
    """Return the public API, sorted."""
    return sorted({line for package in public_packages() for line in _of_package(package)})


def _of_package(package: str) -> Iterator[str]:
    module = import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        place = f"{package}.{name}"
        if inspect.isclass(value):
            yield f"class {place}{_constructor(value)}"
            yield from _members(place, value)
        elif inspect.isroutine(value):
            yield f"def {place}{_signature(value)}"
        elif name != "__version__":
            yield f"data {place}"


def _constructor(class_: type) -> str:
    if issubclass(class_, BaseException) or inspect.isabstract(class_):
        return _signature(class_)
    if dataclasses.is_dataclass(class_):
        return f"({', '.join(one.name for one in dataclasses.fields(class_) if one.init)})"
    if hasattr(class_, "__struct_fields__"):
        return f"({', '.join(one.name for one in structs.fields(class_))})"
    return _signature(class_)


def _members(place: str, class_: type) -> Iterator[str]:
    """Yield what a class of ours defines or inherits from another class of ours, without private names."""
    for name in dir(class_):
        if name.startswith("_"):
            continue
        owner = next((base for base in class_.__mro__ if name in vars(base)), object)
        if not owner.__module__.startswith("steersman"):
            continue
        value = inspect.getattr_static(class_, name)
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        yield f"  {place}.{name}{_signature(value) if inspect.isroutine(value) else ''}"


def _signature(value: Any) -> str:
    """Return names, kinds and optionality of parameters: annotations are the type checkers' business."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    shown: list[str] = []
    is_keyword_only = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            shown.append("*")
        prefix = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        is_keyword_only = is_keyword_only or one.kind is one.VAR_POSITIONAL
        shown.append(f"{prefix}{one.name}{'' if one.default is one.empty else '=...'}")
    return f"({', '.join(shown)})"


def text() -> str:
    """Return the file."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(text(), encoding="utf-8")
