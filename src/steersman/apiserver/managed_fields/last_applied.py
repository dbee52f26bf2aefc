"""The annotation that client-side ``kubectl apply`` keeps, and how server-side apply takes over from it.

Fields that still have the values of the annotation were set by kubectl itself, so its apply may take them from their
recorded owners. All this is only for the manager that kubectl uses by default.
"""

from typing import Final

import msgspec

from steersman.apiserver.managed_fields.compare import compare
from steersman.apiserver.managed_fields.endpoint import Object
from steersman.apiserver.managed_fields.field_set import Fields, difference
from steersman.apiserver.managed_fields.field_types import FieldType
from steersman.apiserver.managed_fields.path_element import json_text
from steersman.apiserver.managed_fields.typed import TypeMismatch, checked_fields_of
from steersman.json_types import JsonObject

KUBECTL: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS: Final = 256 * 1024


def annotation_of(obj: Object) -> str:
    """Return the annotation; empty without one."""
    annotations: dict[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    return annotations.get(ANNOTATION, "")


def unchanged_since(live: Object, kind: FieldType) -> Fields:
    """Return the fields that are still as the client applied them; none if the annotation is invalid."""
    try:
        applied = msgspec.json.decode(annotation_of(live), type=JsonObject)
        if applied.get("apiVersion") != live.get("apiVersion"):
            return {}
        fields = checked_fields_of(applied, kind)
        comparison = compare(applied, live, kind)
    except (msgspec.DecodeError, RecursionError, TypeMismatch, ValueError):
        return {}
    return difference(fields, comparison.all)


def refreshed(obj: Object, config: Object) -> Object:
    """Return the object with the annotation of a new configuration; without it if it would be too long."""
    metadata = dict(config.get("metadata") or {})
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != ANNOTATION}
    text = json_text({**config, "metadata": metadata}) + "\n"
    ours = dict(obj["metadata"]["annotations"])
    ours[ANNOTATION] = text
    if sum(len(key.encode()) + len(value.encode()) for key, value in ours.items()) > _MAX_ANNOTATIONS:
        del ours[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": ours}}
