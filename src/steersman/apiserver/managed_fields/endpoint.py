"""Where a write arrives: the version, the type and the subresource that decide how ownership is tracked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from steersman.apiserver.managed_fields.creation import Creation
from steersman.apiserver.managed_fields.field_set import Fields
from steersman.apiserver.managed_fields.field_types import FieldType
from steersman.json_types import JsonObject

Object = JsonObject


class Versioned(NamedTuple):
    """An object in one version of its kind, the type of that version, and what the endpoint resets in it."""

    object: Object
    type: FieldType
    reset_fields: Fields


#: Gives an object in another version of its kind; ``None`` if that version is not served.
InVersion = Callable[[Object, str], Versioned | None]


def _only_this_version(_obj: Object, _version: str) -> Versioned | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint of a kind: the object itself or one of its subresources, in one version."""

    api_version: str
    type: FieldType
    subresource: str = ""
    #: Fields that a write to this endpoint cannot change: ``status``, or on ``/status`` everything else.
    reset_fields: Fields = field(default_factory=dict)
    #: The state before the object exists; for built-in kinds, the fields that are always present.
    empty: Object = field(default_factory=dict)
    #: Conversion to the other served versions, and back.
    convert: InVersion = _only_this_version
    #: Whether objects are checked by a schema instead of decoded by a type: some that do not fit get that far.
    is_custom: bool = False
    #: A shortcut for new objects, which have no earlier state; not for built-in kinds.
    creation: Creation | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_new = not self.empty and self.type.map is not None and not self.type.map.is_atomic
        object.__setattr__(self, "creation", Creation(self.type, self.reset_fields) if is_new else None)

    def in_version(self, obj: Object, version: str) -> Versioned | None:
        """Return an object in a version; ``None`` if that is not served."""
        if version == self.api_version and obj.get("apiVersion", version) == version:
            return Versioned(obj, self.type, self.reset_fields)
        return self.convert(obj, version)
