"""`Model`: the base of every typed part of an object, and how its fields are named on the wire.

Promises: ``None`` is never sent; every other value is sent, even where it equals the field's default; a field that the
class does not know is ignored on reading.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, dataclass_transform

import msgspec
from msgspec import NODEFAULT, Struct, StructMeta, field


def wire_name(python_name: str) -> str:
    """Give the camelCase name of a snake_case field; a trailing underscore (``from_``) only avoids a keyword."""
    head, *rest = python_name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _maker(default: Any) -> Callable[[], Any]:
    """Give a factory of a default that msgspec does not recognise as such, and so never leaves out."""
    if isinstance(default, (list, dict, set)):
        return lambda: deepcopy(default)
    return lambda: default


def _never_left_out(default: Any) -> Any:
    """Turn a plain default into one that is sent like any other value; ``None`` stays what is left out."""
    name = None
    if type(default) is type(_FIELD):
        name = default.name
        if default.default_factory is not NODEFAULT:
            factory = default.default_factory
            return field(default_factory=lambda: factory(), name=name)  # noqa: PLW0108 - msgspec must not see `list`
        if default.default in (NODEFAULT, None):
            return default
        default = default.default
    if default is None or default is msgspec.UNSET:
        return default
    return field(default_factory=_maker(default), name=name)


_FIELD = field(default=None)


@dataclass_transform(field_specifiers=(field,), kw_only_default=True)
class ModelMeta(StructMeta):
    """Makes msgspec leave out exactly the fields that are ``None``."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Prepare the defaults of the fields before msgspec reads them."""
        for field_name in namespace.get("__annotations__", ()):
            if field_name in namespace:
                namespace[field_name] = _never_left_out(namespace[field_name])
        return super().__new__(mcls, name, bases, namespace, **options)


class Model(Struct, metaclass=ModelMeta, kw_only=True, omit_defaults=True, rename=wire_name):
    """A part of an object: a spec, a status, or anything inside them.

    Subclasses declare typed fields, in snake_case; on the wire they are camelCase.
    """
