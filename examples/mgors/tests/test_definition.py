"""The definition that comes from the classes, beside the one that was asked for."""

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


def test_the_classes_say_what_was_asked_for() -> None:
    """Every field, default and bound; the rules are stricter by now, and each of them has a test below."""
    found, original = without_descriptions(crd_of(Mgors)), ORIGINAL
    for crd in (found, original):
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema.pop("x-kubernetes-validations", None)
        schema["properties"]["spec"].pop("x-kubernetes-validations")
        schema["properties"]["spec"]["properties"].pop("featureCompatibilityVersion", None)  # ours
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
async def test_what_cannot_work_is_refused(cluster: Cluster, spec: MgorsSpec, problem: str) -> None:
    """By the server, before anybody acts on it."""
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
async def test_an_even_number_needs_an_arbiter_or_courage(cluster: Cluster, spec: MgorsSpec) -> None:
    """Two voters cannot outvote each other; of eight members seven vote."""
    await cluster.install(Mgors)
    await cluster.client.create(Mgors(meta("a"), spec))


@pytest.mark.parametrize("name", ["a" * 45, "1st", "a.b"])
async def test_a_name_must_fit_into_what_is_made_of_it(cluster: Cluster, name: str) -> None:
    """A Service, and labels with the name of a pod and of a revision: they would be refused later, and nobody told."""
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
async def test_what_members_are_known_by_does_not_change(
    cluster: Cluster, spec: MgorsSpec, change: dict[str, Any], problem: str
) -> None:
    """A set that runs would be found under neither the old nor the new one, and be taken for dead."""
    await cluster.install(Mgors)
    mgors = await cluster.client.create(Mgors(meta("a"), spec))
    with pytest.raises(Invalid, match=problem):
        await cluster.client.patch(mgors, {"spec": change})


async def test_some_things_stay_as_they_are(cluster: Cluster) -> None:
    """Members know their set by its name; a backup is of what it was made of."""
    await cluster.install(Mgors, MgorsBackup)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1, replica_set_name="one")))
    with pytest.raises(Invalid, match="replicaSetName is immutable"):
        await cluster.client.patch(mgors, {"spec": {"replicaSetName": "two"}})
    backup = await cluster.client.create(MgorsBackup(meta("a"), MgorsBackupSpec(cluster_name="a")))
    with pytest.raises(Invalid, match="create another one"):
        await cluster.client.patch(backup, {"spec": {"clusterName": "b"}})


async def test_it_can_be_scaled(cluster: Cluster) -> None:
    """With kubectl scale, and by an autoscaler."""
    await cluster.install(Mgors)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1)))
    await cluster.client.scale(mgors, 3)
    assert cluster.list(Mgors)[0].spec.members == 3
