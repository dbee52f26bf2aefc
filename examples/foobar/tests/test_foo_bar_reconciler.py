"""The reconcilers of FooBar and its tasks, with an API server for each test."""

import pytest
from steersman import Invalid, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.kinds.events_v1 import Event
from steersman.testing import Cluster, FakeClock, Refuse

from foobar.actions import MARK, TYPE
from foobar.api.foo_bar_task_v1 import FooBarTask
from foobar.api.foo_bar_v1 import FooBar, FooBarSpec
from foobar.main import operator
from foobar.reconcilers.foo_bar_task_reconciler import TTL


async def create_targets(cluster: Cluster, *names: str) -> None:
    """Create targets of FooBars."""
    for name in names:
        await cluster.client.create(ConfigMap(meta(name)))


def foobar(name: str = "a", target: str = "one", type_: str | None = "big") -> FooBar:
    """Return a FooBar."""
    return FooBar(meta(name), FooBarSpec(target=target, type=type_))


def marks(cluster: Cluster) -> dict[str, str]:
    """Return the type of each marked target, keyed by name."""
    return {one.name: one.annotations[TYPE] for one in cluster.list(ConfigMap) if MARK in one.annotations}


def state(cluster: Cluster, name: str = "a") -> str:
    """Return the state of a FooBar."""
    return next(one.status.status for one in cluster.list(FooBar) if one.name == name)


async def test_a_foobar_is_applied_moved_and_revoked(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The life of a FooBar, in its status and at its targets."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        assert marks(cluster) == {"one": "big"}
        assert state(cluster) == "ApplySucceed"

        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await cluster.settle()
        assert marks(cluster) == {"two": "big"}
        [found] = cluster.list(FooBar)
        assert (found.status.status, found.status.observed_generation) == ("ApplySucceed", 2)
        assert found.status.message == "applied to ConfigMap 'two'"

        await cluster.client.delete(created)
        await cluster.settle()
        assert marks(cluster) == {}
        assert cluster.list(FooBar) == []
        assert cluster.list(FooBarTask) == []
        await fake_clock.advance(5)
        assert {event.reason for event in cluster.list(Event)} == {"ApplySucceed"}
    cluster.assert_rbac_minimal(operator)


async def test_the_old_target_is_revoked_before_the_new_one_is_applied(cluster: Cluster, fake_clock: FakeClock) -> None:
    """It must never be applied to two targets at once."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        cluster.faults.inject(Refuse(503, "ServiceUnavailable"), method="PATCH", path="/configmaps/one", times=4)
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await cluster.settle()
        assert state(cluster) == "Revoking"
        assert marks(cluster) == {"one": "big"}
        await fake_clock.advance(5)
        assert marks(cluster) == {"two": "big"}


async def test_an_erased_status_is_restored(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The status is not the source of what was applied, so nothing else happens."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        [task] = cluster.list(FooBarTask)
        await cluster.client.status.patch(created, {"status": None})
        await fake_clock.advance(1)
        [found] = cluster.list(FooBar)
        assert (found.status.status, found.status.observed_generation) == ("ApplySucceed", 1)
        assert [one.uid for one in cluster.list(FooBarTask)] == [task.uid]


async def test_erasing_the_status_and_moving_the_target_at_once_still_revokes(cluster: Cluster) -> None:
    """An operator that keeps its state in the status fails here, also after a restart."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
    await cluster.client.status.patch(created, {"status": None})
    await cluster.client.patch(created, {"spec": {"target": "two"}})
    async with cluster.running(operator):
        await cluster.settle()
    assert marks(cluster) == {"two": "big"}


async def test_fast_changes_end_at_the_last_target(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Each change is revoked in turn, however fast they follow each other."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        for target in ("two", "one", "two", "one"):
            await cluster.client.patch(created, {"spec": {"target": target}})
        await fake_clock.advance(5)
        assert marks(cluster) == {"one": "big"}
        assert state(cluster) == "ApplySucceed"


async def test_a_target_that_is_created_later_is_awaited(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A temporary error is retried with back-off."""
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await cluster.settle()
        assert state(cluster) == "Applying"
        await create_targets(cluster, "one")
        await fake_clock.advance(2)
        assert state(cluster) == "ApplySucceed"


async def test_a_target_that_is_never_created_is_given_up(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Retries are limited; the next change of the spec starts again."""
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await fake_clock.advance(60)
        [found] = cluster.list(FooBar)
        assert (found.status.status, found.status.message) == ("ApplyFailed", "ConfigMap 'one' does not exist")
        [task] = cluster.list(FooBarTask)
        assert task.status.attempts == 5
        await create_targets(cluster, "two")
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await fake_clock.advance(1)
        assert state(cluster) == "ApplySucceed"


async def test_a_target_of_another_foobar_is_not_taken(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A permanent error is reported at once and not retried; a revoke does not affect the owner."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        await cluster.client.create(foobar("a", type_="first"))
        await cluster.settle()
        late = await cluster.client.create(foobar("b", type_="second"))
        await cluster.settle()
        assert state(cluster, "b") == "ApplyFailed"
        await cluster.client.delete(late)
        await fake_clock.advance(5)
        assert [one.name for one in cluster.list(FooBar)] == ["a"]
        assert marks(cluster) == {"one": "first"}


async def test_a_concurrent_change_of_a_target_is_retried(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A conflict does not count as an attempt, and no change is overwritten."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        cluster.faults.inject(Refuse(409, "Conflict"), method="PATCH", path="/configmaps/one", times=2)
        await cluster.client.create(foobar())
        await fake_clock.advance(1)
        assert state(cluster) == "ApplySucceed"
        assert cluster.list(FooBarTask)[0].status.attempts == 0


async def test_tasks_are_immutable_and_targets_required(cluster: Cluster) -> None:
    """The schema protects the operator from users, and from itself."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await cluster.settle()
        with pytest.raises(Invalid, match="a task never changes"):
            await cluster.client.patch(cluster.list(FooBarTask)[0], {"spec": {"target": "two"}})
        with pytest.raises(Invalid, match=r"spec\.target"):
            await cluster.client.create(foobar("b", target=""))


async def test_finished_tasks_are_deleted_after_a_while(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Only the tasks of what is applied now stay."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await cluster.settle()
        assert sorted(one.spec.operation for one in cluster.list(FooBarTask)) == ["Apply", "Revoke"]
        await fake_clock.advance(TTL + 1)
        assert [one.spec.operation for one in cluster.list(FooBarTask)] == ["Apply"]


async def test_a_deleted_task_is_revoked_and_applied_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The durable state cannot be deleted without its effect."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        [before] = cluster.list(FooBarTask)
        await cluster.client.delete(before)
        await fake_clock.advance(1)
        [after] = cluster.list(FooBarTask)
        assert (after.name, after.uid == before.uid) == (before.name, False)
        assert marks(cluster) == {"one": "big"}

        await cluster.client.delete(after)
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await fake_clock.advance(1)
        assert marks(cluster) == {"two": "big"}
        assert state(cluster) == "ApplySucceed"


async def test_a_settled_foobar_causes_no_writes(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The operator's own status writes do not trigger it."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await fake_clock.advance(5)
        cluster.faults.clear()
        await fake_clock.advance(1800)
        assert cluster.faults.writes() == []
