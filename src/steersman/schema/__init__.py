"""Python types become a Kubernetes API, and the same schemas judge objects.

What an author writes next to `@custom_resource` is here; the machinery is in the modules. Names are loaded
when they are first used: a server that judges objects declares none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steersman.schema.constraints import (
        Constraint,
        Description,
        EmbeddedResource,
        Enum,
        Format,
        Immutable,
        Int32,
        Int64,
        ListMap,
        ListType,
        MapType,
        Maximum,
        MaxItems,
        MaxLength,
        MaxProperties,
        Minimum,
        MinItems,
        MinLength,
        MinProperties,
        MultipleOf,
        Nullable,
        Opaque,
        Pattern,
        PreserveUnknown,
        Rule,
        UniqueItems,
        constrained,
    )
    from steersman.schema.conversions import converts, renames
    from steersman.schema.declaration import Column, Scale, custom_resource

__all__ = [
    "Column",
    "Constraint",
    "Description",
    "EmbeddedResource",
    "Enum",
    "Format",
    "Immutable",
    "Int32",
    "Int64",
    "ListMap",
    "ListType",
    "MapType",
    "MaxItems",
    "MaxLength",
    "MaxProperties",
    "Maximum",
    "MinItems",
    "MinLength",
    "MinProperties",
    "Minimum",
    "MultipleOf",
    "Nullable",
    "Opaque",
    "Pattern",
    "PreserveUnknown",
    "Rule",
    "Scale",
    "UniqueItems",
    "constrained",
    "converts",
    "custom_resource",
    "renames",
]

_HOMES = {
    "Column": "declaration",
    "Scale": "declaration",
    "converts": "conversions",
    "custom_resource": "declaration",
    "renames": "conversions",
}


def __getattr__(name: str) -> Any:
    """Load a name from its home on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'steersman.schema' has no attribute {name!r}")
    value = getattr(import_module(f"steersman.schema.{_HOMES.get(name, 'constraints')}"), name)
    globals()[name] = value
    return value
