"""Pausing an object with an annotation."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.controller.run.pause import PAUSED, pause_of
from steersman.history.explanation import sentence
from steersman.history.records import KeyPhase, ObjectName
from steersman.testing import Cluster, FakeClock

NOW = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


class DeskSpec(Model):
    """The desired state of a desk."""

    legs: int = 4


class DeskStatus(Status):
    """The observed state of a desk."""

    legs: int = 0


@custom_resource("example.com/v1")
class Desk(Resource[DeskSpec, DeskStatus]):
    """A desk."""


def desk_operator(cleaned: list[str] | None = None) -> Operator:
    """Return an operator that copies the legs into the status."""
    operator = Operator("desks")

    @operator.reconciler(Desk)
    async def reconcile(desk: Desk, ctx: Context[Desk]) -> None:
        desk.status.legs = desk.spec.legs
        ctx.condition("Ready", status=True, reason="Stands")

    if cleaned is not None:

        @reconcile.cleanup
        async def cleanup(desk: Desk, ctx: Context[Desk]) -> None:
            del ctx
            cleaned.append(desk.name)

    return operator


def the_desk(cluster: Cluster) -> Desk:
    """Return the desk of the test."""
    [desk] = cluster.list(Desk)
    return desk


def annotated(value: str | None) -> dict[str, object]:
    """Return the patch that sets or removes the annotation."""
    return {"metadata": {"annotations": {PAUSED: value}}}


@pytest.mark.parametrize(
    ("value", "is_paused", "until"),
    [
        ("", True, None),
        ("true", True, None),
        ("2026-11-16T10:05:00Z", True, NOW + timedelta(minutes=5)),
        ("2026-11-16T09:00:00Z", False, None),
        ("for an hour", True, None),
    ],
)
def test_the_value_says_until_when(value: str, *, is_paused: bool, until: datetime | None) -> None:
    """An unreadable value pauses, since reconciling an object that a user wanted to pause may do harm."""
    pause = pause_of({PAUSED: value}, NOW)
    assert (pause is not None) is is_paused
    assert pause is None or pause.until == until
    assert pause_of({}, NOW) is None


def test_a_value_that_is_not_a_time_is_reported() -> None:
    """A typing error must not silently pause forever."""
    pause = pause_of({PAUSED: "for an hour"}, NOW)
    assert pause is not None
    assert "its value 'for an hour' is not a time such as 2026-11-16T10:00:00Z" in pause.message


def test_a_huge_value_is_quoted_in_part() -> None:
    """An annotation may have 256 KiB; a status with such a message is rejected, and shown nowhere."""
    pause = pause_of({PAUSED: "x" * 100_000}, NOW)
    assert pause is not None
    assert len(pause.message) < 200


async def test_a_paused_object_is_not_reconciled_and_says_so(cluster: Cluster) -> None:
    """A user repairs it by hand: the operator must neither undo that nor hide that it is paused."""
    async with cluster.running(desk_operator()) as manager:
        desk = await cluster.client.create(Desk(meta("a", namespace="default", annotations={PAUSED: ""})))
        await cluster.settle()
        assert the_desk(cluster).status.legs == 0
        paused = the_desk(cluster).status.condition("Paused")
        assert paused is not None
        assert (paused.status, paused.reason) == ("True", "PausedByAnnotation")
        view = manager.introspection.view(ObjectName("Desk", "default", "a"))
        assert view.state.phase is KeyPhase.PAUSED
        assert sentence(view) == f"Desk default/a is paused: the annotation {PAUSED} pauses it."
        await cluster.client.patch(desk, annotated(None))
        await cluster.settle()
        assert the_desk(cluster).status.legs == 4
        assert the_desk(cluster).status.condition("Paused") is None
        resumed = manager.introspection.view(ObjectName("Desk", "default", "a")).reconciles
        assert "Paused removed" in [str(one) for run in resumed for one in run.conditions]


async def test_a_pause_ends_at_its_time(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A user who pauses for an hour may forget to resume."""
    until = (cluster.clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    async with cluster.running(desk_operator()):
        await cluster.client.create(Desk(meta("a", namespace="default", annotations={PAUSED: until})))
        await cluster.settle()
        assert the_desk(cluster).status.legs == 0
        await fake_clock.advance(3601)
        await cluster.eventually(lambda: the_desk(cluster).status.legs == 4)


async def test_a_pause_ends_whatever_the_predicate_says(cluster: Cluster) -> None:
    """A predicate that compares generations does not notice that an annotation was removed."""
    operator = Operator("desks")

    @operator.reconciler(Desk, when=lambda _: False)
    async def reconcile(desk: Desk, ctx: Context[Desk]) -> None:
        del ctx
        desk.status.legs = desk.spec.legs

    async with cluster.running(operator) as manager:
        desk = await cluster.client.create(Desk(meta("a", namespace="default", annotations={PAUSED: ""})))
        await cluster.settle()
        for controller in manager.controllers:
            controller.queue.add(desk.key)
        await cluster.eventually(lambda: the_desk(cluster).status.condition("Paused") is not None)
        await cluster.client.patch(desk, annotated(None))
        await cluster.eventually(lambda: the_desk(cluster).status.legs == 4)


async def test_a_paused_object_is_still_cleaned_up(cluster: Cluster) -> None:
    """A deletion that waits for a forgotten pause would hang forever."""
    cleaned: list[str] = []
    async with cluster.running(desk_operator(cleaned)):
        desk = await cluster.client.create(Desk(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(desk, annotated(""))
        await cluster.settle()
        await cluster.client.delete(desk)
        await cluster.eventually(lambda: not cluster.list(Desk))
    assert cleaned == ["a"]
