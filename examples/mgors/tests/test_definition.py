"""The CRD that is derived from the classes, compared with the expected one, and its validation rules."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from steersman import Invalid, meta
from steersman.schema import crd_of
from steersman.testing import Cluster, without_descriptions

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_v1 import Mgors, MgorsSpec, Unsafe

ORIGINAL = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def test_the_crd_is_the_expected_one() -> None:
    """Fields, defaults and bounds; the validation rules are stricter than the original, and tested below."""
    found, original = without_descriptions(crd_of(Mgors)), ORIGINAL
    for crd in (found, original):
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema.pop("x-kubernetes-validations", None)
        schema["properties"]["spec"].pop("x-kubernetes-validations")
        for ours in ("featureCompatibilityVersion", "pods", "mongod", "tls"):
            schema["properties"]["spec"]["properties"].pop(ours, None)
        schema["properties"]["spec"]["properties"]["auth"]["properties"].pop("keyfileRevision", None)
        schema["properties"]["spec"]["properties"]["backup"]["properties"].pop("pointInTime", None)
    assert found == original


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (MgorsSpec(members=2), "voting members must be odd"),
        (MgorsSpec(members=51), "less than or equal to 50"),
        (MgorsSpec(members=1, replica_set_name="a b"), "replicaSetName"),
        (MgorsSpec(members=3, arbiters=1), "voting members must be odd, arbiters included"),
    ],
)
async def test_an_invalid_spec_is_rejected(cluster: Cluster, spec: MgorsSpec, problem: str) -> None:
    """The API server rejects it before the operator sees it."""
    await cluster.install(Mgors)
    with pytest.raises(Invalid, match=problem):
        await cluster.client.create(Mgors(meta("a"), spec))


@pytest.mark.parametrize(
    "spec",
    [
        MgorsSpec(members=2, arbiters=1),
        MgorsSpec(members=2, unsafe=Unsafe(replica_set_size=True)),
        MgorsSpec(members=8),
    ],
)
async def test_an_even_number_needs_an_arbiter_or_an_explicit_permission(cluster: Cluster, spec: MgorsSpec) -> None:
    """Two voters have no majority without each other; of eight members seven vote."""
    await cluster.install(Mgors)
    await cluster.client.create(Mgors(meta("a"), spec))


@pytest.mark.parametrize("name", ["a" * 45, "1st", "a.b"])
async def test_a_name_must_fit_into_the_names_derived_from_it(cluster: Cluster, name: str) -> None:
    """A Service and labels are derived from it, which would be rejected later without a message to the user."""
    await cluster.install(Mgors)
    with pytest.raises(Invalid, match="DNS label of at most 44 characters"):
        await cluster.client.create(Mgors(meta(name), MgorsSpec(members=1)))
    await cluster.client.create(Mgors(meta("a" * 44), MgorsSpec(members=1)))


@pytest.mark.parametrize(
    ("spec", "change", "problem"),
    [
        (MgorsSpec(members=1), {"port": 27018}, "port is immutable"),
        (MgorsSpec(members=1), {"replicaSetName": "late"}, "replicaSetName is immutable"),
        (MgorsSpec(members=1, replica_set_name="one"), {"replicaSetName": None}, "replicaSetName is immutable"),
        (MgorsSpec(members=1), {"storage": {"className": "fast"}}, "storage.className is immutable"),
    ],
)
async def test_fields_that_identify_members_are_immutable(
    cluster: Cluster, spec: MgorsSpec, change: dict[str, Any], problem: str
) -> None:
    """With another port or name the operator could not find the running members."""
    await cluster.install(Mgors)
    mgors = await cluster.client.create(Mgors(meta("a"), spec))
    with pytest.raises(Invalid, match=problem):
        await cluster.client.patch(mgors, {"spec": change})


async def test_the_set_name_and_backups_are_immutable(cluster: Cluster) -> None:
    """Members identify their set by its name; the data of a backup does not change."""
    await cluster.install(Mgors, MgorsBackup)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1, replica_set_name="one")))
    with pytest.raises(Invalid, match="replicaSetName is immutable"):
        await cluster.client.patch(mgors, {"spec": {"replicaSetName": "two"}})
    backup = await cluster.client.create(MgorsBackup(meta("a"), MgorsBackupSpec(cluster_name="a")))
    with pytest.raises(Invalid, match="create another one"):
        await cluster.client.patch(backup, {"spec": {"clusterName": "b"}})


async def test_a_set_can_be_scaled(cluster: Cluster) -> None:
    """Autoscalers and kubectl scale use the scale subresource."""
    await cluster.install(Mgors)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1)))
    await cluster.client.scale(mgors, 3)
    assert cluster.list(Mgors)[0].spec.members == 3
