"""What changed between two schemas, and whether objects and clients of the old one can live with the new one."""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from steersman.structural.schema import Schema


class Severity(enum.Enum):
    """The consequence of a change for a release."""

    #: Old objects and old clients go on as before.
    SAFE = "safe"
    #: Objects that were valid may be rejected, lose fields or change their meaning; clients may fail.
    BREAKING = "breaking"
    #: Fine, if a conversion webhook (or a migration of stored objects) bridges the two.
    NEEDS_CONVERSION = "needs-conversion"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two CustomResourceDefinitions."""

    severity: Severity
    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.path}: {self.what}"


def safe(path: str, what: str) -> Change:
    """Return a change without consequences."""
    return Change(Severity.SAFE, path, what)


def breaking(path: str, what: str) -> Change:
    """Return a change that breaks clients or objects."""
    return Change(Severity.BREAKING, path, what)


#: Types that take every value of another type.
_WIDER: Final = {("integer", "number"), ("integer", "int-or-string"), ("string", "int-or-string")}

#: Bounds by keyword: whether the new one takes all that the old one took.
_BOUNDS: Final[dict[str, Callable[[float, float], bool]]] = {
    "minimum": lambda old, new: new <= old,
    "maximum": lambda old, new: new >= old,
    "minLength": lambda old, new: new <= old,
    "maxLength": lambda old, new: new >= old,
    "minItems": lambda old, new: new <= old,
    "maxItems": lambda old, new: new >= old,
    "minProperties": lambda old, new: new <= old,
    "maxProperties": lambda old, new: new >= old,
    "multipleOf": lambda old, new: (old / new).is_integer() if new else True,
}
#: Keywords that restrict: setting or changing one rejects what was valid, removing one does not.
_RESTRICTIONS: Final = ("pattern", "format", "allOf", "anyOf", "oneOf", "not")
#: Flags by keyword: whether setting the flag is the breaking change; otherwise removing it is.
_FLAGS: Final = {
    "nullable": False,
    "x-kubernetes-preserve-unknown-fields": False,
    "x-kubernetes-embedded-resource": True,
    "exclusiveMinimum": True,
    "exclusiveMaximum": True,
}


def _type(schema: Schema) -> str:
    return "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or "any"


def _type_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before, after = _type(old), _type(new)
    if before == after:
        return
    text = f"type changed from {before} to {after}"
    yield safe(path, text) if after == "any" or (before, after) in _WIDER else breaking(path, text)


def _bound_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    for key, takes_all in _BOUNDS.items():
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if after is None:
            yield safe(path, f"{key} {before} removed")
        elif before is None:
            yield breaking(path, f"{key} {after} added")
        else:
            make = safe if takes_all(before, after) else breaking
            yield make(path, f"{key} changed from {before} to {after}")


def _restriction_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    for key in _RESTRICTIONS:
        before, after = old.get(key), new.get(key)
        if before != after:
            yield safe(path, f"{key} removed") if after is None else breaking(path, f"{key} added or changed")
    for key, hurts_when_set in _FLAGS.items():
        before, after = bool(old.get(key)), bool(new.get(key))
        if before != after:
            make = breaking if after == hurts_when_set else safe
            yield make(path, f"{key} {'set' if after else 'removed'}")


def _enum_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before, after = old.get("enum"), new.get("enum")
    if before == after:
        return
    if not after:
        yield safe(path, "enum removed")
    elif not before:
        yield breaking(path, "enum added")
    else:
        if gone := [value for value in before if value not in after]:
            yield breaking(path, f"enum values removed: {gone}")
        if added := [value for value in after if value not in before]:
            yield safe(path, f"enum values added: {added}")


def _rule_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before = {rule["rule"] for rule in old.get("x-kubernetes-validations") or ()}
    after = {rule["rule"] for rule in new.get("x-kubernetes-validations") or ()}
    for rule in sorted(after - before):
        yield breaking(path, f"rule added: {rule}")
    for rule in sorted(before - after):
        yield safe(path, f"rule removed: {rule}")


def _default_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before, after = old.get("default"), new.get("default")
    if before == after:
        return
    if before is None:
        yield safe(path, f"default {after!r} added")
    else:
        what = "removed" if after is None else f"changed to {after!r}"
        yield breaking(path, f"default {before!r} {what}: objects that rely on it change their meaning")


def _sharing_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    for key, usual in (("x-kubernetes-list-type", "atomic"), ("x-kubernetes-map-type", "granular")):
        before, after = old.get(key) or usual, new.get(key) or usual
        if before != after:
            text = f"{key} changed from {before} to {after}: appliers own other parts than before"
            yield breaking(path, text)
    before_keys, after_keys = old.get("x-kubernetes-list-map-keys"), new.get("x-kubernetes-list-map-keys")
    if before_keys and after_keys and before_keys != after_keys:
        yield breaking(path, f"x-kubernetes-list-map-keys changed from {before_keys} to {after_keys}")


def _field_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    before, after = old.get("properties") or {}, new.get("properties") or {}
    was, is_ = set(old.get("required") or ()), set(new.get("required") or ())
    for name in before:
        if name not in after:
            kept = new.get("x-kubernetes-preserve-unknown-fields") or new.get("additionalProperties")
            make = safe if kept else breaking
            yield make(f"{path}.{name}", "field removed" + ("" if kept else ": its values are dropped"))
        else:
            yield from schema_changes(before[name], after[name], f"{path}.{name}")
    for name, part in after.items():
        if name not in before and not (name in is_ and part.get("default") is None):
            yield safe(f"{path}.{name}", "field added")
    for name in sorted(is_ - was):
        if (after.get(name) or {}).get("default") is not None:
            yield safe(f"{path}.{name}", "field required, with a default")
        else:
            yield breaking(f"{path}.{name}", "field required" if name in before else "required field added")
    for name in sorted((was - is_) & set(after)):
        yield safe(f"{path}.{name}", "field no longer required")


def _value_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        before, after = old.get(key), new.get(key)
        if before.__class__ is dict and after.__class__ is dict:
            yield from schema_changes(before, after, f"{path}{step}")
        elif before != after:
            kept = before is None or after is True
            make = safe if kept and not (before is None and old.get("properties")) else breaking
            yield make(path, f"{key} {'added' if before is None else 'changed' if after is not None else 'removed'}")


_ASPECTS: Final = (
    _type_changes,
    _bound_changes,
    _restriction_changes,
    _enum_changes,
    _rule_changes,
    _default_changes,
    _sharing_changes,
    _field_changes,
    _value_changes,
)


def schema_changes(old: Schema, new: Schema, path: str) -> Iterator[Change]:
    """Yield the changes between two schemas of the same values, without descriptions."""
    for aspect in _ASPECTS:
        yield from aspect(old, new, path)
