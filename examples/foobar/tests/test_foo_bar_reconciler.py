"""What the operator does for a FooBar, on an API server of each test's own."""

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
    """Create what FooBars can be applied to."""
    for name in names:
        await cluster.client.create(ConfigMap(meta(name)))


def foobar(name: str = "a", target: str = "one", type_: str | None = "big") -> FooBar:
    """Give a FooBar."""
    return FooBar(meta(name), FooBarSpec(target=target, type=type_))


def marks(cluster: Cluster) -> dict[str, str]:
    """Give which targets carry a mark, with the type that it was put on with."""
    return {one.name: one.annotations[TYPE] for one in cluster.list(ConfigMap) if MARK in one.annotations}


def state(cluster: Cluster, name: str = "a") -> str:
    """Give where a FooBar stands."""
    return next(one.status.status for one in cluster.list(FooBar) if one.name == name)


async def test_a_foobar_is_applied_moved_and_revoked(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The life of a FooBar, as a user sees it here and at its targets."""
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
    """Two targets at once is what users of such an operator fear."""
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


async def test_a_user_who_erases_the_status_gets_it_back(cluster: Cluster, fake_clock: FakeClock) -> None:
    """What was applied is not known from the status, so nothing else happens either."""
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
    """The case that an operator with its memory in the status gets wrong: also while it was down."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
    await cluster.client.status.patch(created, {"status": None})
    await cluster.client.patch(created, {"spec": {"target": "two"}})
    async with cluster.running(operator):
        await cluster.settle()
    assert marks(cluster) == {"two": "big"}


async def test_there_and_back_again_ends_where_the_user_wants(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Each change is undone in its turn, however fast they come."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        for target in ("two", "one", "two", "one"):
            await cluster.client.patch(created, {"spec": {"target": target}})
        await fake_clock.advance(5)
        assert marks(cluster) == {"one": "big"}
        assert state(cluster) == "ApplySucceed"


async def test_a_target_that_comes_later_is_waited_for(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An error that may pass is retried, with growing pauses."""
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await cluster.settle()
        assert state(cluster) == "Applying"
        await create_targets(cluster, "one")
        await fake_clock.advance(2)
        assert state(cluster) == "ApplySucceed"


async def test_a_target_that_never_comes_is_given_up(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Retries are bounded; the user's next change begins anew."""
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await fake_clock.advance(60)
        [found] = cluster.list(FooBar)
        assert (found.status.status, found.status.message) == ("ApplyFailed", "there is no ConfigMap 'one'")
        [task] = cluster.list(FooBarTask)
        assert task.status.attempts == 5
        await create_targets(cluster, "two")
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await fake_clock.advance(1)
        assert state(cluster) == "ApplySucceed"


async def test_a_target_of_somebody_else_is_not_taken(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An error that will not pass is told at once and not retried; revoking it takes nothing from its owner."""
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


async def test_a_target_that_changes_meanwhile_is_looked_at_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A conflict is no failure: it costs no attempt, and nobody's change is overwritten."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        cluster.faults.inject(Refuse(409, "Conflict"), method="PATCH", path="/configmaps/one", times=2)
        await cluster.client.create(foobar())
        await fake_clock.advance(1)
        assert state(cluster) == "ApplySucceed"
        assert cluster.list(FooBarTask)[0].status.attempts == 0


async def test_tasks_cannot_be_changed_and_targets_are_needed(cluster: Cluster) -> None:
    """The schema protects the operator from its users, and from itself."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await cluster.settle()
        with pytest.raises(Invalid, match="a task never changes"):
            await cluster.client.patch(cluster.list(FooBarTask)[0], {"spec": {"target": "two"}})
        with pytest.raises(Invalid, match=r"spec\.target"):
            await cluster.client.create(foobar("b", target=""))


async def test_tasks_that_are_over_go_after_a_while(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Of a long life only what is applied now is left."""
    await create_targets(cluster, "one", "two")
    async with cluster.running(operator):
        created = await cluster.client.create(foobar())
        await cluster.settle()
        await cluster.client.patch(created, {"spec": {"target": "two"}})
        await cluster.settle()
        assert sorted(one.spec.operation for one in cluster.list(FooBarTask)) == ["Apply", "Revoke"]
        await fake_clock.advance(TTL + 1)
        assert [one.spec.operation for one in cluster.list(FooBarTask)] == ["Apply"]


async def test_a_task_that_somebody_deletes_is_undone_and_done_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The operator's memory cannot be deleted without what it remembers."""
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


async def test_at_rest_nothing_is_written(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The status that the operator writes does not keep it busy."""
    await create_targets(cluster, "one")
    async with cluster.running(operator):
        await cluster.client.create(foobar())
        await fake_clock.advance(5)
        cluster.faults.clear()
        await fake_clock.advance(1800)
        assert cluster.faults.writes() == []
