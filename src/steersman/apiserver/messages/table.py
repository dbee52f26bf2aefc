"""Objects as rows of a ``Table``, the form in which ``kubectl get`` asks for lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from steersman.apiserver.resources.columns import CREATED_AT, Column
from steersman.json_types import JsonObject

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def partial_metadata(obj: JsonObject, version: str = "v1") -> JsonObject:
    """Return an object without its content."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": _shown_metadata(obj),
    }


def _shown_metadata(obj: JsonObject) -> JsonObject:
    """Return the metadata in Kubernetes' internal form, in which this annotation of DaemonSets is a field."""
    metadata: JsonObject = obj.get("metadata", {})
    annotations = metadata.get("annotations") or {}
    if obj.get("kind") != "DaemonSet" or _TEMPLATE_GENERATION not in annotations:
        return metadata
    rest = {key: value for key, value in annotations.items() if key != _TEMPLATE_GENERATION}
    if rest:
        return {**metadata, "annotations": rest}
    return {key: value for key, value in metadata.items() if key != "annotations"}


@dataclass(frozen=True, slots=True)
class TableStyle:
    """The columns and options of a table."""

    columns: tuple[Column, ...]
    version: str = "v1"
    #: What each row has beside its cells: ``Metadata``, ``Object`` or ``None``.
    include: str = "Metadata"


#: Conditions of the row of a pod that has ended.
_ENDED = {
    "Succeeded": {"reason": "Succeeded", "message": "The pod has completed successfully."},
    "Failed": {"reason": "Failed", "message": "The pod failed."},
}


def _row(obj: JsonObject, style: TableStyle, now: datetime) -> JsonObject:
    row: JsonObject = {"cells": [column.cell(obj, now) for column in style.columns]}
    if obj.get("kind") == "Pod" and (ended := _ENDED.get((obj.get("status") or {}).get("phase", ""))):
        row["conditions"] = [{"type": "Completed", "status": "True", **ended}]
    if style.include == "Object":
        row["object"] = obj
    elif style.include == "None":
        row["object"] = None
    else:
        row["object"] = partial_metadata(obj, style.version)
    return row


def table(objects: Sequence[JsonObject], metadata: JsonObject, style: TableStyle, now: datetime) -> JsonObject:
    """Return objects as a ``Table``; only the first table of a stream has column definitions."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{style.version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in style.columns],
        # Only kinds with columns of their own distinguish an empty list from null.
        "rows": [_row(obj, style, now) for obj in objects] or (None if CREATED_AT in style.columns else []),
    }
