"""An operator that is gone at any of its writes: found out in this process."""

import itertools

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.testing.cluster import Cluster
from steersman.testing.crashes import (
    dying_once_at_each_write,
    run_story,
    run_until_crash,
    survive_crashes,
)
from steersman.testing.end_state import Document
from steersman.testing.fake_clock import FakeClock
from steersman.testing.fuse import Crash, Fuse


class BoxSpec(Model):
    """What is wanted."""

    copies: int = 1


class BoxStatus(Status):
    """What is there."""

    copies: int = 0


@custom_resource("crashes.example.com/v1")
class Box(Resource[BoxSpec, BoxStatus]):
    """Wants a number of things."""


_numbers = itertools.count()


def _password() -> bytes:
    return f"secret {next(_numbers)}".encode()


careful = Operator("careful")
forgetful = Operator("forgetful")
plain = Operator("plain")
guessing = Operator("guessing")


@careful.reconciler(Box, owns=[ConfigMap])
async def _careful(box: Box, ctx: Context[Box]) -> None:
    for _ in range(box.spec.copies - len(ctx.owned(ConfigMap))):
        await ctx.create(ConfigMap(meta(generate_name=f"{box.name}-")))
        ctx.event("Copied", "made a copy")
    box.status.copies = box.spec.copies


@forgetful.reconciler(Box, owns=[ConfigMap])
async def _forgetful(box: Box, ctx: Context[Box]) -> None:
    if box.status.copies == 0:
        await ctx.create(ConfigMap(meta(generate_name=f"{box.name}-")))
        box.status.copies = 1


@plain.reconciler(Box, owns=[ConfigMap])
def _plain(box: Box, ctx: Context[Box]) -> None:
    ctx.wait(ctx.apply(ConfigMap(meta(box.name))))
    box.status.copies = 1


@guessing.reconciler(Box, owns=[Secret])
async def _guessing(box: Box, ctx: Context[Box]) -> None:
    if not ctx.owned(Secret):
        await ctx.create(Secret(meta(box.name), data={"password": _password()}))
    box.status.copies = 1


async def _a_box_is_filled(cluster: Cluster) -> None:
    await cluster.client.create(Box(meta("a"), BoxSpec(copies=2)))
    await cluster.eventually(lambda: cluster.list(Box)[0].status.copies > 0)


async def test_an_operator_that_looks_before_it_acts_survives() -> None:
    """The promise of a level-based operator, kept; the writes are told, so that a test can say which were tried."""
    writes = await survive_crashes(careful, _a_box_is_filled)
    pods = "POST /api/v1/namespaces/default/configmaps"
    assert [write for write in writes if "/events" not in write] == [
        pods,
        pods,
        "PATCH /apis/crashes.example.com/v1/namespaces/default/boxes/a/status",
    ]
    assert any("/events" in write for write in writes)


async def test_an_operator_that_trusts_its_status_is_found_out() -> None:
    """What was created is lost from sight if the status that remembers it is never written."""
    with pytest.raises(AssertionError) as failure:
        await survive_crashes(forgetful, _a_box_is_filled)
    told = str(failure.value)
    assert "crashed after write 1 of 2, POST /api/v1/namespaces/default/configmaps" in told
    assert "crashed before write 1" not in told
    assert "crashed before write 2" in told
    assert '+    "name": "a-*"' in told


@pytest.mark.parametrize("operator", [plain, careful])
async def test_time_may_be_real(operator: Operator) -> None:
    """Plain functions run in threads, which no virtual clock moves."""
    assert len(await survive_crashes(operator, _a_box_is_filled, clock=RealClock)) >= 2


async def test_a_story_that_waits_in_vain_is_told() -> None:
    """A crash that the operator does not recover from may show only by what never happens."""
    runs = iter([1, 0, 0, 0, 0, 0, 0])

    async def story(cluster: Cluster) -> None:
        await _a_box_is_filled(cluster)
        assert next(runs), "the box is empty"

    with pytest.raises(AssertionError, match="the story failed: the box is empty"):
        await survive_crashes(forgetful, story)


async def test_what_differs_for_reasons_of_its_own_can_be_taken_out() -> None:
    """A password that is made up is another one in each run."""

    def without_passwords(document: Document) -> Document:
        document.pop("data", None)
        return document

    with pytest.raises(AssertionError, match="password"):
        await survive_crashes(guessing, _a_box_is_filled)
    await survive_crashes(guessing, _a_box_is_filled, normalise=without_passwords)


async def test_a_write_that_never_comes_is_no_success() -> None:
    """A crash that did not happen proves nothing."""
    with pytest.raises(AssertionError, match="write 9 never came"):
        await run_story(forgetful, _a_box_is_filled, Crash(9), clock=FakeClock())


@pytest.mark.usefixtures("fake_clock")
async def test_each_write_is_the_end_of_one_instance_and_the_last_one_lives(cluster: Cluster) -> None:
    """So many die as there are things to write, however often each is written."""
    async with dying_once_at_each_write(cluster, careful) as lives:
        await cluster.client.create(Box(meta("a"), BoxSpec(copies=3)))
        await cluster.eventually(lambda: cluster.list(Box)[0].status.copies == 3, within=60)
        await cluster.settle()
    assert len(cluster.list(ConfigMap)) == 3
    last = [writes[-1] for writes in lives]
    assert len(set(last)) == len(last)
    assert {write.rpartition("/")[2] for write in last} >= {"configmaps", "status"}


class Shelf:
    """Something that is no app: what an operator puts there."""

    def __init__(self) -> None:
        self.things: list[str] = []

    async def put(self, thing: str) -> None:
        """Put one more there."""
        self.things.append(thing)


def _stacking(shelf: Shelf, fuse: Fuse) -> Operator:
    operator = Operator("stacking")

    @operator.reconciler(Box)
    async def _stack(box: Box, _: Context[Box]) -> None:
        for number in range(len(shelf.things), box.spec.copies):
            await fuse.carry_out(f"put {number}", lambda: shelf.put(box.name))
        box.status.copies = len(shelf.things)

    return operator


@pytest.mark.usefixtures("fake_clock")
async def test_an_operator_dies_at_what_it_writes_elsewhere(cluster: Cluster) -> None:
    """Each instance is made with a fuse of its own; one that looks first puts nothing there twice."""
    shelf = Shelf()
    async with dying_once_at_each_write(cluster, lambda fuse: _stacking(shelf, fuse)) as lives:
        await cluster.client.create(Box(meta("a"), BoxSpec(copies=2)))
        await cluster.eventually(lambda: cluster.list(Box)[0].status.copies == 2, within=60)
    assert shelf.things == ["a", "a"]
    assert [writes[-1] for writes in lives][:2] == ["put 0", "put 1"]


@pytest.mark.usefixtures("fake_clock")
async def test_instances_die_one_after_the_other_on_the_same_cluster(cluster: Cluster) -> None:
    """Each gets one write further than the one before, for operators that write before they look."""
    await cluster.install(Box)
    await cluster.client.create(Box(meta("a"), BoxSpec(copies=3)))
    assert len(await run_until_crash(cluster, careful, Crash(1))) == 1
    assert len(cluster.list(ConfigMap)) == 1
    assert len(await run_until_crash(cluster, careful, Crash(2))) == 2
    assert len(cluster.list(ConfigMap)) == 3
