"""The pods of a replica set: where they run, and the options of mongod."""

from typing import Any

import pytest
from steersman import Invalid, Quantity, meta
from steersman.kinds.core_v1 import Container, PodSpec, ResourceRequirements
from steersman.testing import Cluster

from mgors.api.mgors_v1 import Mgors, MgorsSpec, MongodSettings, PodSettings
from mgors.objects import budget_of, members_of
from mgors.pod_template import Revision, cache_gigabytes


def mgors(**fields: Any) -> Mgors:
    """Return a replica set of three."""
    return Mgors(meta("shop", namespace="db"), MgorsSpec(members=3, **fields))


def template(wanted: Mgors) -> tuple[PodSpec, Container]:
    """Return the spec of a member's pod, and its mongod."""
    spec = members_of(wanted, 3, Revision(image="mongo:6.0")).spec.template.spec
    assert spec is not None
    return spec, spec.containers[0]


def test_members_avoid_sharing_a_node() -> None:
    """A node that fails would take a majority with it."""
    spec, _ = template(mgors())
    assert spec.affinity is not None
    assert spec.affinity.pod_anti_affinity is not None
    [preferred] = spec.affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution or []
    assert preferred.pod_affinity_term.topology_key == "kubernetes.io/hostname"
    zones = PodSettings(anti_affinity="Required", anti_affinity_topology_key="topology.kubernetes.io/zone")
    spec, _ = template(mgors(pods=zones))
    assert spec.affinity is not None
    assert spec.affinity.pod_anti_affinity is not None
    [required] = spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution or []
    assert required.topology_key == "topology.kubernetes.io/zone"
    assert template(mgors(pods=PodSettings(anti_affinity="None")))[0].affinity is None


@pytest.mark.parametrize(
    ("cache", "limit", "expected"),
    [(None, None, ""), (None, "4Gi", "1.5"), (None, "1Gi", "0.25"), ("2Gi", "4Gi", "2"), ("512Mi", None, "0.5")],
)
def test_the_cache_fits_into_the_memory_limit(cache: str | None, limit: str | None, expected: str) -> None:
    """Half of the memory minus a gibibyte, as mongod computes it for a machine; a kernel kills a mongod with more."""
    resources = ResourceRequirements(limits={"memory": Quantity(limit)}) if limit else None
    wanted = mgors(pods=PodSettings(resources=resources), mongod=MongodSettings(cache_size=cache))
    assert cache_gigabytes(wanted) == expected


def test_options_and_parameters_are_passed_in_a_stable_order() -> None:
    """Another order would be another template, and replace all pods."""
    options = MongodSettings(options={"quiet": "", "oplogSize": "990"}, parameters={"ttlMonitorSleepSecs": "5"})
    args = template(mgors(mongod=options))[1].args or []
    assert args[-5:] == ["--oplogSize", "990", "--quiet", "--setParameter", "ttlMonitorSleepSecs=5"]


@pytest.mark.parametrize("name", ["replSet", "port", "keyFile", "tlsMode", "--quiet"])
async def test_options_of_the_operator_cannot_be_overridden(cluster: Cluster, name: str) -> None:
    """With another port or set name the operator would lose its members."""
    await cluster.install(Mgors)
    spec = MgorsSpec(members=3, mongod=MongodSettings(options={name: "1"}))
    with pytest.raises(Invalid, match="not one that the operator sets"):
        await cluster.client.create(Mgors(meta("shop"), spec))


def test_no_eviction_is_allowed_while_a_majority_needs_every_member() -> None:
    """Pods are Ready while their members still copy data."""
    assert budget_of(mgors(), can_lose_one=True).spec.max_unavailable == 1
    assert budget_of(mgors(), can_lose_one=False).spec.max_unavailable == 0
