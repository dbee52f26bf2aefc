"""The definition that comes from the classes, beside the one that was asked for."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from steersman import Invalid, meta
from steersman.schema import crd_of
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec
from mgors.api.mgors_v1 import Mgors, MgorsSpec, Unsafe

ORIGINAL = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def _without_words(value: Any) -> Any:
    """Leave out what is only for people: descriptions."""
    if isinstance(value, dict):
        return {key: _without_words(item) for key, item in value.items() if key != "description"}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def test_the_classes_say_what_was_asked_for() -> None:
    """Every field, default, bound and rule."""
    assert _without_words(crd_of(Mgors)) == ORIGINAL


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (MgorsSpec(members=2), "voting members must be odd"),
        (MgorsSpec(members=51), "less than or equal to 50"),
        (MgorsSpec(members=1, replica_set_name="a b"), "replicaSetName"),
    ],
)
async def test_what_cannot_work_is_refused(cluster: Cluster, spec: MgorsSpec, problem: str) -> None:
    """By the server, before anybody acts on it."""
    await cluster.install(Mgors)
    with pytest.raises(Invalid, match=problem):
        await cluster.client.create(Mgors(meta("a"), spec))


@pytest.mark.parametrize(
    "spec", [MgorsSpec(members=2, arbiters=1), MgorsSpec(members=2, unsafe=Unsafe(replica_set_size=True))]
)
async def test_an_even_number_needs_an_arbiter_or_courage(cluster: Cluster, spec: MgorsSpec) -> None:
    """Two voters cannot outvote each other."""
    await cluster.install(Mgors)
    await cluster.client.create(Mgors(meta("a"), spec))


async def test_some_things_stay_as_they_are(cluster: Cluster) -> None:
    """Members know their set by its name; a backup is of what it was made of."""
    await cluster.install(Mgors, MgorsBackup)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1, replica_set_name="one")))
    with pytest.raises(Invalid, match="replicaSetName is immutable"):
        await cluster.client.patch(mgors, {"spec": {"replicaSetName": "two"}})
    backup = await cluster.client.create(MgorsBackup(meta("a"), MgorsBackupSpec(cluster_name="a")))
    with pytest.raises(Invalid, match="make another one"):
        await cluster.client.patch(backup, {"spec": {"clusterName": "b"}})


async def test_it_can_be_scaled(cluster: Cluster) -> None:
    """With kubectl scale, and by an autoscaler."""
    await cluster.install(Mgors)
    mgors = await cluster.client.create(Mgors(meta("a"), MgorsSpec(members=1)))
    await cluster.client.scale(mgors, 3)
    assert cluster.list(Mgors)[0].spec.members == 3
