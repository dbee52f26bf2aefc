"""What `kubectl apply` would make of a manifest: `write_proposal` sends an object as kubectl would.

Applying a manifest removes the fields that an earlier version of it had set. How kubectl knows them depends on how the
object was applied before:

- by ``kubectl apply --server-side``: the field manager ``kubectl`` owns them, and server-side apply removes them;
- by ``kubectl apply``: the annotation ``last-applied-configuration`` has the earlier manifest. `three_way_patch` is the
  manifest as a patch with directives that remove the rest of it: a strategic merge patch for built-in kinds, otherwise
  a merge patch;
- not at all: nothing is removed.
"""

from collections.abc import Mapping
from typing import Any, Final

from steersman.apiserver.builtin.types import Schema, definition_of, load_types, resolve
from steersman.apiserver.managed_fields.last_applied import KUBECTL, annotation_of
from steersman.client.client import Client
from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.protocol.requests import PatchType

_CLIENT_SIDE: Final = "kubectl-client-side-apply"
#: A field of which nothing is known, as every field of a custom kind: lists are replaced.
_UNKNOWN: Final[Schema] = {}


async def write_proposal(client: Client, obj: Unstructured) -> None:
    """Create an object, replace the existing one by an edited one, or apply a manifest without a version."""
    found = await client.try_get(obj.gvk, obj.name, obj.namespace or None) if obj.name else None
    if found is None:
        obj.metadata.pop("resourceVersion", None)
        await client.create(obj)
    elif obj.resource_version:
        obj.metadata["resourceVersion"] = found.resource_version
        await client.replace(obj)
    elif (applied := _last_applied(found.content)) is None:
        await client.as_manager(KUBECTL).apply(obj, force=True)
    else:
        schema = _schema_of(obj.gvk)
        patch = three_way_patch(_with_annotations(applied), _with_annotations(obj.content), schema)
        kind = PatchType.MERGE if schema is _UNKNOWN else PatchType.STRATEGIC
        await client.as_manager(_CLIENT_SIDE).patch(found, patch, patch_type=kind)


def _last_applied(live: JsonObject) -> JsonObject | None:
    """Return the manifest that was applied on the client's side; ``None`` if the server knows what was applied."""
    entries = (live.get("metadata") or {}).get("managedFields") or ()
    if any((one.get("manager"), one.get("operation")) == (KUBECTL, "Apply") for one in entries):
        return None
    try:
        found = decode_json(annotation_of(live).encode())
    except DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _with_annotations(manifest: JsonObject) -> JsonObject:
    """Return a manifest that has annotations, if only none: kubectl adds its own, so it never removes all of them."""
    metadata = manifest.get("metadata") or {}
    return {**manifest, "metadata": {**metadata, "annotations": metadata.get("annotations") or {}}}


def _schema_of(gvk: GroupVersionKind) -> Schema:
    try:
        return load_types()[definition_of(gvk)]
    except KeyError:
        return _UNKNOWN


def three_way_patch(applied: Mapping[str, Any], wanted: Mapping[str, Any], schema: Schema) -> JsonObject:
    """Return the patch that sets what is wanted and removes what was applied before and is no longer wanted.

    It need not know the live object: a patch that sets a field to the value that it has changes nothing.
    """
    patch: JsonObject = dict.fromkeys((key for key in applied if key not in wanted), None)
    for key, value in wanted.items():
        field = (schema.get("properties") or {}).get(key, _UNKNOWN)
        before = applied.get(key)
        if value.__class__ is dict:
            patch[key] = _map_patch(before if before.__class__ is dict else {}, value, field)
        elif value.__class__ is list:
            patch |= _list_patch(key, before if before.__class__ is list else [], value, field)
        else:
            patch[key] = value
    return patch


def _strategies(field: Schema) -> list[str]:
    return str(field.get("x-kubernetes-patch-strategy", "")).split(",")


def _map_patch(applied: JsonObject, wanted: JsonObject, field: Schema) -> JsonObject:
    patch = three_way_patch(applied, wanted, resolve(field))
    if "retainKeys" in _strategies(field):
        patch["$retainKeys"] = sorted(wanted)
    return patch


def _list_patch(name: str, applied: list[Any], wanted: list[Any], field: Schema) -> JsonObject:
    """Return the members of a patch that turn one list into another; items of other writers stay in merged lists."""
    if "merge" not in _strategies(field):
        return {name: wanted}
    key = field.get("x-kubernetes-patch-merge-key", "")
    if not key:
        removed = [item for item in applied if item not in wanted]
        directives = {f"$setElementOrder/{name}": wanted, name: wanted}
        return directives | ({f"$deleteFromPrimitiveList/{name}": removed} if removed else {})
    before = {item.get(key): item for item in applied}
    schema = resolve(field["items"])
    items = [three_way_patch(before.get(item.get(key), {}), item, schema) for item in wanted]
    kept = [item.get(key) for item in wanted]
    deletions = [{key: one, "$patch": "delete"} for one in before if one not in kept]
    return {f"$setElementOrder/{name}": [{key: one} for one in kept], name: [*items, *deletions]}
