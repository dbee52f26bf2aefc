"""The reprs of classes: any of them may end up in a log, so no class shows bytes that it contains."""

import dataclasses
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module

from msgspec import Struct

import steersman

#: Bytes that are public: certificates without their keys, parts of an address.
PUBLIC = {"authority", "certificate", "root_certificate", "retired", "prefix", "raw"}


def _classes() -> Iterator[type]:
    for found in pkgutil.walk_packages(steersman.__path__, "steersman."):
        if not found.name.startswith("steersman.kinds.") and not found.name.endswith("__main__"):
            module = import_module(found.name)
            for thing in vars(module).values():
                if inspect.isclass(thing) and thing.__module__ == found.name:
                    yield thing


def _shown(kind: type) -> list[str]:
    """Return the bytes fields that the repr of a dataclass or a struct shows."""
    types: dict[str, object] = {}
    if dataclasses.is_dataclass(kind):
        types = {field.name: field.type for field in dataclasses.fields(kind) if field.repr}
    elif issubclass(kind, Struct) and kind.__repr__ is Struct.__repr__:
        types = {name: kind.__annotations__.get(name, "") for name in kind.__struct_fields__}
    fields = {name: str(type_) for name, type_ in types.items() if "Callable" not in str(type_)}
    return [name for name, type_ in fields.items() if "bytes" in type_ and name not in PUBLIC]


def test_no_class_shows_bytes_that_it_contains() -> None:
    """Objects, bodies and keys are bytes: such a field is hidden, or is public and listed here."""
    classes = list(_classes())
    assert len(classes) > 500
    assert {kind.__qualname__: fields for kind in classes if (fields := _shown(kind))} == {}
