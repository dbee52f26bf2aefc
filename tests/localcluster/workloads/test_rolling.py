from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.kinds.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus
from steersman.localcluster.workloads.deployments.revisions import annotate_size
from steersman.localcluster.workloads.deployments.rolling import (
    Limits,
    limits,
    max_replicas,
    new_size,
    old_sizes,
    scaled_sizes,
)
from steersman.objects.meta import meta
from tests.localcluster.workloads.making import deployment, selector

START = datetime(2030, 1, 1, tzinfo=UTC)


def replica_set(name: str, size: int, available: int, age: int = 0) -> ReplicaSet:
    """Return a ReplicaSet as a server returns it."""
    born = START - timedelta(minutes=age)
    return ReplicaSet(
        meta(name, creation_timestamp=born),
        spec=ReplicaSetSpec(replicas=size, selector=selector()),
        status=ReplicaSetStatus(replicas=size, available_replicas=available),
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", Limits(3, 2)),
        (1, "25%", "25%", Limits(1, 0)),
        (4, 0, 0, Limits(0, 1)),
        (3, 0, "10%", Limits(0, 1)),
        (2, 1, 5, Limits(1, 2)),
    ],
)
def test_percentages_are_rounded_so_that_a_rollout_can_progress(
    replicas: int, surge: int | str, unavailable: int | str, expected: Limits
) -> None:
    """MaxSurge is rounded up, maxUnavailable down, and one step is always possible."""
    assert limits(deployment(replicas, surge=surge, unavailable=unavailable)) == expected


@st.composite
def rollouts(draw: st.DrawFn) -> tuple[Deployment, list[ReplicaSet], ReplicaSet]:
    """Generate a Deployment in the middle of a rollout, with any sizes that its limits allow."""
    replicas = draw(st.integers(1, 8))
    web = deployment(replicas, surge=draw(st.integers(0, 3)), unavailable=draw(st.integers(0, 3)))
    room = max_replicas(web)
    sets = []
    for number in range(3):
        size = draw(st.integers(0, room))
        room -= size
        sets.append(replica_set(f"rs-{number}", size, draw(st.integers(0, size)), age=3 - number))
    return web, sets[:2], sets[2]


@given(rollouts())
@settings(max_examples=100, deadline=None)
def test_no_step_violates_the_limits(state: tuple[Deployment, list[ReplicaSet], ReplicaSet]) -> None:
    """At any sizes: never more pods than allowed, and no needed healthy pod is deleted."""
    web, old, new = state
    replicas, allowed = web.spec.replicas or 0, limits(web)
    grown = new_size(web, [*old, new], new)
    before = sum(one.spec.replicas or 0 for one in old)
    assert grown <= replicas or grown == new.spec.replicas
    assert before + grown <= max(replicas + allowed.surge, before + (new.spec.replicas or 0))
    sizes = {resize.replica_set.name: resize.size for resize in old_sizes(web, old, new)}
    available = new.status.available_replicas or 0
    lost = 0
    for one in old:
        size = sizes.get(one.name, one.spec.replicas or 0)
        assert 0 <= size <= (one.spec.replicas or 0)
        lost += max((one.status.available_replicas or 0) - size, 0)
        available += one.status.available_replicas or 0
    assert lost == 0 or available - lost >= replicas - allowed.unavailable


@given(rollouts())
@settings(max_examples=100, deadline=None)
def test_a_rollout_of_healthy_pods_continues(state: tuple[Deployment, list[ReplicaSet], ReplicaSet]) -> None:
    """There is always a next step until the new template has all pods."""
    web, old, new = state
    for one in [*old, new]:
        one.status.available_replicas = one.spec.replicas
    is_done = new.spec.replicas == web.spec.replicas and not any(one.spec.replicas for one in old)
    grows = new_size(web, [*old, new], new) != new.spec.replicas
    shrinks = bool(old_sizes(web, old, new))
    assert is_done or grows or shrinks


def test_unhealthy_old_pods_are_deleted_first() -> None:
    """Deleting a pod that does not work costs nothing."""
    web = deployment(4, surge=1, unavailable=1)
    sick = replica_set("sick", 2, 0, age=1)
    well = replica_set("well", 2, 2, age=2)
    steps = old_sizes(web, [well, sick], replica_set("new", 1, 1))
    assert {step.replica_set.name: step.size for step in steps} == {"sick": 0}


def test_scaling_is_proportional() -> None:
    """The figures are those of a real controller manager: 2 of 3 and 1 of 3 of five pods."""
    web = deployment(4)
    old, new = replica_set("old", 2, 2, age=1), replica_set("new", 1, 0)
    for one in (old, new):
        annotate_size(one, 2, 3)
    assert {step.replica_set.name: step.size for step in scaled_sizes(web, [old], new)} == {"old": 3, "new": 2}
