"""The annotation that client-side ``kubectl apply`` keeps, and how server-side apply takes over from it.

Fields that are still as the annotation says were put there by kubectl itself, so its apply may take them from whoever
is said to own them. All this is for the manager that kubectl uses by default, and for nobody else.
"""

from typing import Any, Final

import msgspec

from steersman.apiserver.managed_fields.compare import compare
from steersman.apiserver.managed_fields.endpoint import Object
from steersman.apiserver.managed_fields.field_set import Fields, difference
from steersman.apiserver.managed_fields.field_types import FieldType
from steersman.apiserver.managed_fields.path_element import json_text
from steersman.apiserver.managed_fields.typed import TypeMismatch, checked_fields_of

KUBECTL: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS: Final = 256 * 1024


def annotation_of(obj: Object) -> str:
    """Give the annotation; empty if there is none."""
    annotations: dict[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    return annotations.get(ANNOTATION, "")


def unchanged_since(live: Object, kind: FieldType) -> Fields:
    """Give the fields that are as they were applied on the client side; none if the annotation makes no sense."""
    try:
        applied = msgspec.json.decode(annotation_of(live), type=dict[str, Any])
        if applied.get("apiVersion") != live.get("apiVersion"):
            return {}
        fields = checked_fields_of(applied, kind)
        comparison = compare(applied, live, kind)
    except (msgspec.DecodeError, RecursionError, TypeMismatch, ValueError):
        return {}
    return difference(fields, comparison.all)


def refreshed(obj: Object, config: Object) -> Object:
    """Give the object with the annotation rewritten for a new configuration; left out where it would be too long."""
    metadata = dict(config.get("metadata") or {})
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != ANNOTATION}
    text = json_text({**config, "metadata": metadata}) + "\n"
    ours = dict(obj["metadata"]["annotations"])
    ours[ANNOTATION] = text
    if sum(len(key.encode()) + len(value.encode()) for key, value in ours.items()) > _MAX_ANNOTATIONS:
        del ours[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": ours}}
