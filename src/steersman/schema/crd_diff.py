"""`crd_diff`: the changes between two releases of a CRD.

Each change of a CustomResourceDefinition is classed as safe, breaking, or in need of a conversion. Changes that a
server rejects (another group, kind or scope) are breaking.
"""

from collections.abc import Iterator
from typing import Any, Final

from steersman.json_types import JsonObject
from steersman.schema.schema_diff import Change, Severity, breaking, safe, schema_changes
from steersman.structural.schema import Schema

_IDENTITY: Final = (("group",), ("scope",), ("names", "kind"), ("names", "plural"), ("names", "listKind"))


def _at(spec: JsonObject, path: tuple[str, ...]) -> Any:
    value: Any = spec
    for step in path:
        value = value.get(step) if value is not None else None
    return value


def _identity_changes(old: JsonObject, new: JsonObject) -> Iterator[Change]:
    for path in _IDENTITY:
        before, after = _at(old, path), _at(new, path)
        if before != after and not (path == ("names", "listKind") and None in (before, after)):
            yield breaking(f"spec.{'.'.join(path)}", f"changed from {before} to {after}: it is another resource now")
    for key in ("shortNames", "categories"):
        names_before, names_after = _at(old, ("names", key)) or [], _at(new, ("names", key)) or []
        for name in names_before:
            if name not in names_after:
                yield breaking(f"spec.names.{key}", f"{name} removed")
        for name in names_after:
            if name not in names_before:
                yield safe(f"spec.names.{key}", f"{name} added")


def _by_name(spec: JsonObject) -> dict[str, JsonObject]:
    return {version["name"]: version for version in spec.get("versions") or ()}


def _stored(crd: JsonObject) -> set[str]:
    """Return the versions that objects may be stored in."""
    known = (crd.get("status") or {}).get("storedVersions") or []
    return {*known, *(version["name"] for version in crd["spec"].get("versions") or () if version.get("storage"))}


def _schema(version: JsonObject) -> Schema:
    found: Schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return found


def _converts(spec: JsonObject) -> bool:
    return (spec.get("conversion") or {}).get("strategy") == "Webhook"


def _removed_version(name: str, version: JsonObject, stored: set[str]) -> Change:
    path = f"spec.versions[{name}]"
    if name in stored:
        return breaking(path, "removed, though objects are stored in it: migrate them first")
    if version.get("served"):
        return breaking(path, "removed, though it was served: its clients fail")
    return safe(path, "removed")


def _added_version(name: str, new: JsonObject, closest: JsonObject | None) -> Iterator[Change]:
    path = f"spec.versions[{name}]"
    yield safe(path, "added")
    if closest is None:
        return
    here = _schema(_by_name(new["spec"])[name])
    for first, second in ((_schema(closest), here), (here, _schema(closest))):
        for change in schema_changes(first, second, ""):
            if change.severity is Severity.BREAKING:
                where = f"between {closest['name']} and {name}"
                bridged = ", which the conversion webhook must bridge" if _converts(new["spec"]) else ""
                yield Change(Severity.NEEDS_CONVERSION, f"{path}{change.path}", f"{change.what}, {where}{bridged}")


def _subresource_changes(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    before, after = old.get("subresources") or {}, new.get("subresources") or {}
    if ("status" in before) != ("status" in after):
        what = "enabled" if "status" in after else "disabled"
        yield breaking(f"{path}.subresources.status", f"{what}: writers of the status must go another way")
    if before.get("scale") != after.get("scale"):
        make = safe if "scale" not in before else breaking
        yield make(f"{path}.subresources.scale", "added" if "scale" not in before else "removed or changed")


def _selectable_changes(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    before = {field["jsonPath"] for field in old.get("selectableFields") or ()}
    after = {field["jsonPath"] for field in new.get("selectableFields") or ()}
    for name in sorted(before - after):
        yield breaking(f"{path}.selectableFields", f"{name} removed: selectors on it fail")
    for name in sorted(after - before):
        yield safe(f"{path}.selectableFields", f"{name} added")


def _version_changes(old: JsonObject, new: JsonObject) -> Iterator[Change]:
    path = f"spec.versions[{new['name']}]"
    if old.get("served") and not new.get("served"):
        yield breaking(path, "no longer served: its clients fail")
    elif new.get("served") and not old.get("served"):
        yield safe(path, "served now")
    if new.get("deprecated") and not old.get("deprecated"):
        yield safe(path, "deprecated now")
    yield from _subresource_changes(old, new, path)
    if old.get("additionalPrinterColumns") != new.get("additionalPrinterColumns"):
        yield safe(f"{path}.additionalPrinterColumns", "changed")
    yield from _selectable_changes(old, new, path)
    yield from schema_changes(_schema(old), _schema(new), path)


def _storage_version(spec: JsonObject) -> JsonObject | None:
    return next((version for version in spec.get("versions") or () if version.get("storage")), None)


def _storage_changes(old: JsonObject, new: JsonObject) -> Iterator[Change]:
    before, after = _storage_version(old["spec"]), _storage_version(new["spec"])
    if before is not None and after is not None and before["name"] != after["name"]:
        what = f"the stored version changes from {before['name']} to {after['name']}: stored objects must be migrated"
        yield Change(Severity.NEEDS_CONVERSION, f"spec.versions[{after['name']}]", what)


def crd_diff(old: JsonObject, new: JsonObject) -> list[Change]:
    """Return the changes between two CustomResourceDefinitions of one kind, each with its severity."""
    changes = list(_identity_changes(old["spec"], new["spec"]))
    before, after = _by_name(old["spec"]), _by_name(new["spec"])
    stored = _stored(old)
    for name, version in before.items():
        if name in after:
            changes += _version_changes(version, after[name])
        else:
            changes.append(_removed_version(name, version, stored))
    for name in after:
        if name not in before:
            changes += _added_version(name, new, _storage_version(old["spec"]))
    changes += _storage_changes(old, new)
    return list(dict.fromkeys(changes))
