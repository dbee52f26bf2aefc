from typing import Any

import pytest

from steersman.apiserver.builtin.types import type_of
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.managed_fields.scale import parent_entries, scale_entries
from steersman.errors import Conflict
from steersman.objects.identity import GroupVersionKind
from tests.support.patch_recordings import Step, steps

PATHS = {"gold.dev/v1": ("spec", "replicas"), "apps/v1": ("spec", "replicas")}
SCALE = Endpoint(
    api_version="autoscaling/v1", type=type_of(GroupVersionKind("autoscaling", "v1", "Scale")), subresource="scale"
)
TIME = "2026-11-15T20:46:28Z"


def scale_of(parent: dict[str, Any], replicas: int) -> dict[str, Any]:
    """Return the scale of an object."""
    metadata = {"name": parent["metadata"]["name"], "uid": parent["metadata"]["uid"]}
    if listed := scale_entries(parent["metadata"]["managedFields"], PATHS):
        metadata["managedFields"] = listed
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}}


def recorded(name: str) -> list[Step]:
    """Return the steps of one recorded sequence."""
    return [step for step in steps("apply_custom") if step.name.startswith(f"{name}/")]


def test_a_write_to_scale_takes_the_replicas_from_their_owner() -> None:
    """Recorded: the scaler owns them with its subresource and without a time, the applier keeps the rest."""
    sequence = recorded("ac-scale")
    parent, after = sequence[0].response, sequence[3].response
    written = updater.update(scale_of(parent, 2), scale_of(parent, 3), "hpa", endpoint=SCALE, time=TIME)
    listed = parent_entries(
        parent["metadata"]["managedFields"], written["metadata"]["managedFields"], PATHS, "gold.dev/v1"
    )
    assert listed == after["metadata"]["managedFields"]


def test_an_apply_to_scale_conflicts_with_the_scaler() -> None:
    """Recorded text: the owner is named with the version of the scale."""
    sequence = recorded("ac-scale")
    parent, answer = sequence[5].response, sequence[6].response
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 5}}
    with pytest.raises(Conflict) as caught:
        updater.apply(scale_of(parent, 4), config, "B", endpoint=SCALE, time=TIME)
    assert caught.value.message == answer["message"]


def test_an_owner_of_unchanged_replicas_keeps_its_entry() -> None:
    """A write that changes nothing must not change owners, nor move them from the object to the subresource."""
    entry = {
        "manager": "A",
        "operation": "Apply",
        "apiVersion": "gold.dev/v1",
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}, "f:color": {}}},
    }
    listed = parent_entries([entry], scale_entries([entry], PATHS), PATHS, "gold.dev/v1")
    assert listed == [entry]


def test_entries_of_unknown_versions_are_dropped_and_of_unscalable_ones_kept() -> None:
    """A version without replicas has no owner of them; nothing is known about a version that is not served."""
    paths = {"gold.dev/v1": ("spec", "replicas"), "gold.dev/v2": None}
    known = {"operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    entries = [{"manager": "M", "apiVersion": version, **known} for version in ("gold.dev/v0", "gold.dev/v2")]
    assert scale_entries(entries, paths) == []
    assert [entry["apiVersion"] for entry in parent_entries(entries, [], paths, "gold.dev/v1")] == ["gold.dev/v2"]
