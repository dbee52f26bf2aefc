"""An operator that crashes at any of its writes, in this process."""

import secrets

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.clock import RealClock
from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.kinds.core_v1 import ConfigMap, Secret, Service, ServicePort, ServiceSpec
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.crash_switch import Crash, CrashSwitch
from steersman.testing.crashes.scenarios import (
    crash_once_at_each_write,
    run_scenario,
    run_until_crash,
    survive_crashes,
)
from steersman.testing.fake_clock import FakeClock
from tests.testing import remembering


class BoxSpec(Model):
    """The desired state."""

    copies: int = 1


class BoxStatus(Status):
    """The observed state."""

    copies: int = 0


@custom_resource("crashes.example.com/v1")
class Box(Resource[BoxSpec, BoxStatus]):
    """A kind that wants a number of things."""


def _password() -> bytes:
    return secrets.token_bytes(16)


careful = Operator("careful")
forgetful = Operator("forgetful")
plain = Operator("plain")
guessing = Operator("guessing")
hasty = Operator("hasty")
exposing = Operator("exposing")


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


@hasty.reconciler(Box, owns=[ConfigMap])
async def _hasty(box: Box, ctx: Context[Box]) -> None:
    if box.status.copies == 0:
        for left_over in ctx.owned(ConfigMap):
            await ctx.delete(left_over)
        await ctx.create(ConfigMap(meta(box.name)))
        box.status.copies = 1


@exposing.reconciler(Box, owns=[ConfigMap, Service])
async def _exposing(box: Box, ctx: Context[Box]) -> None:
    for number in range(box.spec.copies):
        ports = [ServicePort(port=80)]
        service = Service(meta(f"{box.name}-{number}"), spec=ServiceSpec(type="NodePort", ports=ports))
        await ctx.apply(service)
    for service in ctx.owned(Service):
        await ctx.apply(ConfigMap(meta(service.name), data={"address": service.spec.cluster_ip or ""}))
    box.status.copies = len(ctx.owned(Service))


async def _a_box_is_filled(cluster: Cluster) -> None:
    await cluster.client.create(Box(meta("a"), BoxSpec(copies=2)))
    await cluster.eventually(lambda: cluster.list(Box)[0].status.copies > 0)


async def test_a_level_based_operator_survives() -> None:
    """It reads before it writes; the writes are returned, so that a test can check which were tried."""
    writes = await survive_crashes(careful, _a_box_is_filled)
    pods = "POST /api/v1/namespaces/default/configmaps"
    assert [write for write in writes if "/events" not in write] == [
        pods,
        pods,
        "PATCH /apis/crashes.example.com/v1/namespaces/default/boxes/a/status",
    ]
    assert any("/events" in write for write in writes)


async def test_an_operator_that_trusts_its_status_fails() -> None:
    """A created object is lost if the status that records it is never written."""
    with pytest.raises(AssertionError) as failure:
        await survive_crashes(forgetful, _a_box_is_filled)
    told = str(failure.value)
    assert "crashed after write 1 of 2, POST /api/v1/namespaces/default/configmaps" in told
    assert "crashed before write 1" not in told
    assert "crashed before write 2" in told
    assert '+    "name": "a-*"' in told


@pytest.mark.parametrize("operator", [plain, careful])
async def test_time_may_be_real(operator: Operator) -> None:
    """Plain functions run in threads, which a fake clock does not control."""
    assert len(await survive_crashes(operator, _a_box_is_filled, clock=RealClock)) >= 2


async def test_a_scenario_that_waits_without_success_is_reported() -> None:
    """A crash without recovery may show only in what never happens."""
    runs = iter([1, 0, 0, 0, 0, 0, 0])

    async def scenario(cluster: Cluster) -> None:
        await _a_box_is_filled(cluster)
        assert next(runs), "the box is empty"

    with pytest.raises(AssertionError, match="the scenario failed: the box is empty"):
        await survive_crashes(forgetful, scenario)


async def test_an_object_that_was_created_twice_is_reported_although_the_end_state_is_the_same() -> None:
    """Users of the first object lost it meanwhile."""
    with pytest.raises(AssertionError) as failure:
        await survive_crashes(hasty, _a_box_is_filled)
    told = str(failure.value)
    assert "crashed after write 1 of 2, POST" in told
    assert "ConfigMap default/a was created twice, without a crash once" in told
    assert "ConfigMap default/a was deleted once, without a crash never" in told
    assert "---" not in told


async def test_values_that_the_server_assigns_are_ignored() -> None:
    """Each run has its own addresses and ports."""
    writes = await survive_crashes(exposing, _boxes_are_exposed)
    assert len(writes) > 5


async def _boxes_are_exposed(cluster: Cluster) -> None:
    for name in ("a", "b"):
        await cluster.client.create(Box(meta(name), BoxSpec(copies=2)))
    await cluster.eventually(lambda: [one.status.copies for one in cluster.list(Box)] == [2, 2])


@pytest.mark.parametrize("operator", [remembering.operator, "tests.testing.remembering:operator"])
async def test_an_operator_that_relies_on_its_memory_fails(operator: Operator | str) -> None:
    """A module's globals are lost with the process, so each instance starts without them."""
    with pytest.raises(AssertionError, match=r"crashed (before|after) write 1 of 2"):
        await survive_crashes(operator, _a_note_is_copied)
    assert remembering.copied == set()


async def _a_note_is_copied(cluster: Cluster) -> None:
    await cluster.client.create(remembering.Note(meta("a")))
    await cluster.eventually(lambda: cluster.list(remembering.Note)[0].status.copies == 1)


async def test_a_function_creates_an_operator_for_each_instance() -> None:
    """For operators that cannot be imported, such as one that a test declares."""
    made: list[Operator] = []

    def make() -> Operator:
        operator = Operator("made")

        @operator.reconciler(Box)
        async def _fill(box: Box, _: Context[Box]) -> None:
            box.status.copies = 1

        made.append(operator)
        return operator

    assert len(await survive_crashes(make, _a_box_is_filled)) == 1
    assert len(made) == 6


async def test_an_operator_that_would_keep_its_memory_is_rejected() -> None:
    """It would survive for the wrong reason."""
    with pytest.raises(ConfigError, match="operator 'local' cannot be imported again"):
        await survive_crashes(Operator("local"), _a_box_is_filled)


async def test_a_reconcile_that_fails_after_a_crash_is_reported() -> None:
    """Its retry may succeed, but without a crash it does not fail."""

    def make() -> Operator:
        operator = Operator("made")

        @operator.reconciler(Box)
        async def _fill(box: Box, ctx: Context[Box]) -> None:
            if box.status.copies == 0:
                await ctx.create(ConfigMap(meta(box.name)))
            box.status.copies = 1

        return operator

    with pytest.raises(AssertionError, match=r"crashed after write 1(?s:.*)AlreadyExists"):
        await survive_crashes(make, _a_box_is_filled)


async def test_other_differences_can_be_normalised() -> None:
    """A generated password differs in each run."""

    def without_passwords(document: JsonObject) -> JsonObject:
        document.pop("data", None)
        return document

    with pytest.raises(AssertionError, match="password"):
        await survive_crashes(guessing, _a_box_is_filled)
    await survive_crashes(guessing, _a_box_is_filled, normalise=without_passwords)


async def test_a_write_that_never_comes_is_an_error() -> None:
    """A crash that did not happen proves nothing."""
    with pytest.raises(AssertionError, match="write 9 never came"):
        await run_scenario(forgetful, _a_box_is_filled, Crash(9), clock=FakeClock())


@pytest.mark.usefixtures("fake_clock")
async def test_an_instance_crashes_at_each_write_and_the_last_one_lives(cluster: Cluster) -> None:
    """As many instances crash as there are different writes, however often each is repeated."""
    async with crash_once_at_each_write(cluster, careful) as lives:
        await cluster.client.create(Box(meta("a"), BoxSpec(copies=3)))
        await cluster.eventually(lambda: cluster.list(Box)[0].status.copies == 3, within=60)
        await cluster.settle()
    assert len(cluster.list(ConfigMap)) == 3
    last = [writes[-1] for writes in lives]
    assert len(set(last)) == len(last)
    assert {write.rpartition("/")[2] for write in last} >= {"configmaps", "status"}


class Shelf:
    """A system outside the cluster that stores what an operator puts there."""

    def __init__(self) -> None:
        self.things: list[str] = []

    async def put(self, thing: str) -> None:
        """Put one more there."""
        self.things.append(thing)


def _stacking(shelf: Shelf, switch: CrashSwitch) -> Operator:
    operator = Operator("stacking")

    @operator.reconciler(Box)
    async def _stack(box: Box, _: Context[Box]) -> None:
        for number in range(len(shelf.things), box.spec.copies):
            await switch.carry_out(f"put {number}", lambda: shelf.put(box.name))
        box.status.copies = len(shelf.things)

    return operator


@pytest.mark.usefixtures("fake_clock")
async def test_an_operator_crashes_at_its_writes_to_other_systems(cluster: Cluster) -> None:
    """Each instance has its own switch; one that reads first puts nothing there twice."""
    shelf = Shelf()
    async with crash_once_at_each_write(cluster, lambda switch: _stacking(shelf, switch)) as lives:
        await cluster.client.create(Box(meta("a"), BoxSpec(copies=2)))
        await cluster.eventually(lambda: cluster.list(Box)[0].status.copies == 2, within=60)
    assert shelf.things == ["a", "a"]
    assert [writes[-1] for writes in lives][:2] == ["put 0", "put 1"]


@pytest.mark.usefixtures("fake_clock")
async def test_instances_crash_one_after_the_other_on_the_same_cluster(cluster: Cluster) -> None:
    """Each gets one write further than the one before, for operators that write before they read."""
    await cluster.install(Box)
    await cluster.client.create(Box(meta("a"), BoxSpec(copies=3)))
    assert len(await run_until_crash(cluster, careful, Crash(1))) == 1
    assert len(cluster.list(ConfigMap)) == 1
    assert len(await run_until_crash(cluster, careful, Crash(2))) == 2
    assert len(cluster.list(ConfigMap)) == 3
