"""What the server does to ``metadata`` on every write: what it fills in, keeps, and refuses to change."""

from collections.abc import Sequence
from typing import Any

from steersman.schema.field_errors import FieldError, forbidden, invalid

Document = dict[str, Any]

#: What only the server sets; a client's values are forgotten on create.
_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation")


def wipe(metadata: Document) -> None:
    """Forget what a client may not set on a new object."""
    for name in _SYSTEM:
        metadata.pop(name, None)


def keep(metadata: Document, old: Document) -> None:
    """Carry over what an update leaves out and what it cannot change."""
    metadata.pop("selfLink", None)
    if not metadata.get("uid"):
        metadata["uid"] = old["uid"]
    for name in ("creationTimestamp", "generation"):
        _carry(metadata, old, name)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in old and "deletionGracePeriodSeconds" not in metadata:
            metadata["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]


def _carry(metadata: Document, old: Document, name: str) -> None:
    if name in old:
        metadata[name] = old[name]
    else:
        metadata.pop(name, None)


def update_errors(metadata: Document, old: Document) -> list[FieldError]:
    """Complain about changes that nobody may make."""
    errors = []
    if "deletionTimestamp" in old:
        errors += _new_finalizer_errors(metadata.get("finalizers", ()), old.get("finalizers", ()))
    for name in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        new, before = metadata.get(name), old.get(name)
        if new != before:
            errors.append(invalid(f"metadata.{name}", _zero(name) if new is None else new, "field is immutable"))
    return errors


def _zero(name: str) -> Any:
    return None if name.startswith("deletion") else ""


def _new_finalizer_errors(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    added = sorted(set(new) - set(old))
    if not added:
        return []
    shown = ", ".join(f'"{name}"' for name in added)
    text = (
        "no new finalizers can be added if the object is being deleted, found new finalizers "
        f"[]string{{{shown}}}"
    )
    return [forbidden("metadata.finalizers", text)]
