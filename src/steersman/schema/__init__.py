"""Python types become a Kubernetes API: what an author writes next to `@custom_resource`.

`declaration` has the decorator, `constraints` the annotations of fields. `type_tree` turns classes into schemas and
`crd` into a CustomResourceDefinition, which is validated by ``steersman.structural.crd``. `conversions` and `versions`
convert between versions of a kind, `round_trips` checks that nothing gets lost. `crd_diff` compares two releases.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

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
    from steersman.schema.crd import crd_object, crd_of, policy_rules_of
    from steersman.schema.declaration import Column, Scale, custom_resource
    from steersman.schema.field_loss import lost_fields

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
    "crd_object",
    "crd_of",
    "custom_resource",
    "lost_fields",
    "policy_rules_of",
    "renames",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.schema.constraints": (
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
            "UniqueItems",
            "constrained",
        ),
        "steersman.schema.conversions": ("converts", "renames"),
        "steersman.schema.crd": ("crd_object", "crd_of", "policy_rules_of"),
        "steersman.schema.declaration": ("Column", "Scale", "custom_resource"),
        "steersman.schema.field_loss": ("lost_fields",),
    },
)
