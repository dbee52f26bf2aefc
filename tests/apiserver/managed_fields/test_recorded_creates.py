"""Recorded creates of built-in kinds: who owns which fields once the server has set defaults."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from steersman.apiserver.builtin.types import empty_object, type_of
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.objects.identity import GroupVersionKind
from tests.support.patch_recordings import target_of

_GOLDEN = Path(__file__).parent.parent.parent / "golden" / "builtin"

#: Kinds in which the server sets more fields after ownership is computed; the answer does not show the object before
#: that.
COMPLETED_LATER = {
    "Pod": "priority and tolerations",
    "Service": "cluster addresses",
    "Job": "selector and labels",
    "Namespace": "label and finalizer",
    "PersistentVolume": "finalizer",
    "PersistentVolumeClaim": "finalizer",
    "VolumeAttributesClass": "finalizer",
    "Lease": "fields of closed feature gates are dropped",
}


def created_objects() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the bodies and answers of recorded creates of tracked objects."""
    for file in ("defaults", "lifecycle"):
        with lzma.open(_GOLDEN / f"{file}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for step in (step for line in lines for step in json.loads(line)["steps"]):
                answer = step["response"]
                if step["method"] != "POST" or step["status"] != 201 or not isinstance(answer, dict):
                    continue
                if isinstance(step.get("body"), dict) and not target_of(urlsplit(step["path"]).path).subresource:
                    yield step["body"], answer


def as_decided(body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the object as ownership sees it: empty lists of the request become null only when they are stored."""
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    empty = {key: value for key, value in body.items() if value == [] and answer.get(key, 0) is None}
    return {**answer, "metadata": metadata, **empty}


def test_creators_own_what_they_and_the_defaults_set() -> None:
    """For some kinds the owner has `spec` itself, for others only fields in it, as Go encodes the kind."""
    kinds = set()
    for body, answer in created_objects():
        entries = answer.get("metadata", {}).get("managedFields")
        if not entries or answer["kind"] in COMPLETED_LATER:
            continue
        gvk = GroupVersionKind.of(answer["apiVersion"], answer["kind"])
        try:
            kind = type_of(gvk)
        except KeyError:
            continue
        endpoint = Endpoint(
            api_version=gvk.api_version,
            type=kind,
            reset_fields=set_of(("status",)) if kind.map is not None and "status" in kind.map.fields else {},
            empty=empty_object(gvk),
        )
        new = as_decided(body, answer)
        result = updater.create(new, entries[0]["manager"], endpoint=endpoint, time=entries[0]["time"])
        assert result["metadata"]["managedFields"] == entries, answer
        kinds.add(gvk.kind)
    assert len(kinds) > 30
