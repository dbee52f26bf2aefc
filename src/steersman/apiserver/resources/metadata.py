"""What every write does to ``metadata``: fields that the server sets, keeps, or does not let change."""

from typing import Any

from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError, invalid, too_long

MANAGER_LIMIT = 128

#: Fields that only the server sets; those of a client are removed on create.
_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")
_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def wipe(metadata: JsonObject) -> None:
    """Remove the fields of a new object that only the server sets."""
    for name in _SYSTEM:
        metadata.pop(name, None)


def keep(metadata: JsonObject, old: JsonObject) -> None:
    """Copy the fields that an update leaves out or cannot change."""
    metadata.pop("selfLink", None)
    if not metadata.get("uid"):
        metadata["uid"] = old["uid"]
    for name in ("creationTimestamp", "generation"):
        _carry(metadata, old, name)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in old and "deletionGracePeriodSeconds" not in metadata:
            metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def _carry(metadata: JsonObject, old: JsonObject, name: str) -> None:
    if name in old:
        metadata[name] = old[name]
    else:
        metadata.pop(name, None)


def without_duplicate_owners(metadata: JsonObject, *, is_patch: bool) -> list[str]:
    """Keep each owner once; return the warning about duplicates."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    kept: dict[tuple[Any, ...], JsonObject] = {}
    again = [owner["uid"] for owner in owners if kept.setdefault(tuple(sorted(owner.items())), owner) is not owner]
    if again:
        metadata["ownerReferences"] = list(kept.values())
        when = " after mutating admission happens" if is_patch else ""
        return [_DUPLICATE_OWNERS.format(when) + ", ".join(dict.fromkeys(again))]
    return []


def manager_errors(metadata: JsonObject) -> list[FieldError]:
    """Return errors about invalid names of field managers."""
    errors = []
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        manager, path = entry.get("manager", ""), f"metadata.managedFields[{index}].manager"
        if len(manager) > MANAGER_LIMIT:
            errors.append(too_long(path, MANAGER_LIMIT))
        errors += unprintable_errors(manager, path)
    return errors


def unprintable_errors(manager: str, path: str) -> list[FieldError]:
    """Return errors about unprintable characters."""
    if manager.isprintable():
        return []
    return [
        invalid(path, manager, f"invalid character U+{ord(char):04X} (at position {position})")
        for position, char in enumerate(manager)
        if not char.isprintable()
    ]


def plain_finalizer_errors(metadata: JsonObject) -> list[FieldError]:
    """Return errors about finalizers without a domain, which built-in kinds do not accept."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", name, text)
        for index, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
