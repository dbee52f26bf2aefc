"""Await points: where the author's code waits, the operator crashes or is cancelled."""

import asyncio

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.simulation import simulate
from steersman.simulation.reports.report import Report
from steersman.testing import Cluster


class KettleSpec(Model):
    """The desired state."""

    cups: int = 1


class KettleStatus(Status):
    """The observed state."""

    boiled: int = 0


@custom_resource("awaits.example.com/v1")
class Kettle(Resource[KettleSpec, KettleStatus]):
    """Boils for a while."""


async def boil(cluster: Cluster) -> None:
    """Create a kettle, and wait until it boiled."""
    await cluster.client.create(Kettle(meta("a")))
    await cluster.settle()


def _awaits(report: Report) -> list[str]:
    return [str(step) for step in report.reference.outcome.recording.awaits]


def waiting() -> Operator:
    """Return an operator that waits between two writes, for reasons of its own."""
    operator = Operator("waiting")

    @operator.reconciler(Kettle, owns=[ConfigMap])
    async def reconcile(kettle: Kettle, ctx: Context[Kettle]) -> None:
        await ctx.apply(ConfigMap(meta(f"{kettle.name}-on")))
        await asyncio.sleep(5)  # noqa: TID251 - an operator may do that
        await ctx.apply(ConfigMap(meta(f"{kettle.name}-off")))
        kettle.status.boiled = kettle.spec.cups

    return operator


def test_a_line_that_waits_for_time_is_a_point_of_its_own() -> None:
    """A crash in the fifth second of a wait leaves the same objects as one before it, but another time."""
    report = simulate(waiting, boil, faults=["F2", "drain-timeout"])
    report.raise_if_failed()
    assert report.missed == []
    assert len({line.partition(":")[2] for line in _awaits(report)}) == 3, "three lines of the reconciler"
    crashes = [plan for plan in report.tried if plan.has("crash-at-await")]
    cancels = [plan for plan in report.tried if plan.has("drain-timeout")]
    assert len(crashes) == 1, "the other awaits are those of a crash at a write or event"
    assert len(cancels) == len(_awaits(report)) >= 3


def test_a_crash_while_time_passes_is_found() -> None:
    """Two waits without a write between them: no crash at a write or event happens at the end of the first one."""

    def impatient() -> Operator:
        operator = Operator("impatient")

        @operator.reconciler(Kettle, owns=[ConfigMap])
        async def reconcile(kettle: Kettle, ctx: Context[Kettle]) -> None:
            elapsed = (ctx.now() - (kettle.metadata.creation_timestamp or ctx.now())).total_seconds()
            if not ctx.owned(ConfigMap):
                await ctx.create(ConfigMap(meta(f"{kettle.name}-begun")))
                await asyncio.sleep(7)  # noqa: TID251 - an operator may do that
                await asyncio.sleep(7)  # noqa: TID251 - same
            elif 5 < elapsed < 10:
                await ctx.create(ConfigMap(meta(f"{kettle.name}-interrupted")))
            kettle.status.boiled = 1

        return operator

    report = simulate(impatient, boil, faults=["F1", "F2"])
    assert [str(failure.plan) for failure in report.failures] == ["crash-at-await@await:2"]
    assert "the operator crashes while its code waits" in report.text()
    assert "reconcile (test_await_points.py:" in report.text()


def test_a_cancellation_arrives_at_every_await() -> None:
    """What ``finally`` does while the process stops is the author's code, too: a crash would never run it."""

    def tidy() -> Operator:
        operator = Operator("tidy")

        @operator.reconciler(Kettle, owns=[ConfigMap])
        async def reconcile(kettle: Kettle, ctx: Context[Kettle]) -> None:
            await ctx.apply(ConfigMap(meta(f"{kettle.name}-on")))
            try:
                await asyncio.sleep(5)  # noqa: TID251 - an operator may do that
                kettle.status.boiled = 1
            except asyncio.CancelledError:
                await ctx.create(ConfigMap(meta(generate_name=f"{kettle.name}-cancelled-")))
                raise

        return operator

    report = simulate(tidy, boil, faults=["F1", "F2", "drain-timeout"])
    assert {failure.plan.faults[0].kind for failure in report.failures} == {"drain-timeout"}
    assert "cancelled-*" in report.text()


def test_a_task_that_a_reconciler_starts_belongs_to_it() -> None:
    """Awaits in a TaskGroup are awaits of the author."""

    def parallel() -> Operator:
        operator = Operator("parallel")

        @operator.reconciler(Kettle, owns=[ConfigMap])
        async def reconcile(kettle: Kettle, ctx: Context[Kettle]) -> None:
            async def heat(number: int) -> None:
                await asyncio.sleep(number)  # noqa: TID251 - an operator may do that
                await ctx.apply(ConfigMap(meta(f"{kettle.name}-{number}")))

            async with asyncio.TaskGroup() as tasks:
                for number in (3, 4):
                    tasks.create_task(heat(number))
            kettle.status.boiled = 1

        return operator

    report = simulate(parallel, boil, faults=["F2", "F14"], twice=True)
    report.raise_if_failed()
    assert any(line.startswith("heat (") for line in _awaits(report))
    assert any(plan.has("crash-at-await") for plan in report.tried)


def test_a_line_that_polls_counts_three_times() -> None:
    """A loop would otherwise have a plan for each of its turns, all of them alike."""

    def polling() -> Operator:
        operator = Operator("polling")

        @operator.reconciler(Kettle)
        async def reconcile(kettle: Kettle, _: Context[Kettle]) -> None:
            for _ in range(8):
                await asyncio.sleep(1)  # noqa: TID251 - an operator may do that
            kettle.status.boiled = 1

        return operator

    report = simulate(polling, boil, faults="crash-at-await")
    report.raise_if_failed()
    assert len(report.tried) == 3


@pytest.mark.parametrize("kind", ["crash-at-await", "drain-timeout"])
def test_a_point_that_does_not_exist_is_not_reached(kind: str) -> None:
    """A misspelled number must not pass."""
    report = simulate(waiting, boil, plans=[f"{kind}@await:99"])
    with pytest.raises(AssertionError, match="no fault was tried"):
        report.raise_if_failed()
