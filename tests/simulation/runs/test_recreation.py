"""Objects that are deleted and created again under the same name, at any step: a new uid is a new object."""

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.simulation import simulate
from steersman.testing import Cluster


class BoxSpec(Model):
    """The desired state."""

    content: str = ""


class BoxStatus(Status):
    """The observed state."""

    content: str = ""


@custom_resource("recreation.example.com/v1", plural="boxes")
class Box(Resource[BoxSpec, BoxStatus]):
    """Wants one ConfigMap."""


def careful() -> Operator:
    """Return an operator that reads what exists."""
    operator = Operator("careful")

    @operator.reconciler(Box, owns=[ConfigMap])
    async def reconcile(box: Box, ctx: Context[Box]) -> None:
        await ctx.apply(ConfigMap(meta(box.name), data={"content": box.spec.content}))
        box.status.content = box.spec.content

    return operator


def cleaning() -> Operator:
    """Return an operator with a finalizer: an object is deleted only after its cleanup."""
    operator = Operator("cleaning")

    @operator.reconciler(Box, owns=[ConfigMap])
    async def reconcile(box: Box, ctx: Context[Box]) -> None:
        await ctx.apply(ConfigMap(meta(box.name), data={"content": box.spec.content}))

    @reconcile.cleanup
    async def cleanup(_: Box, ctx: Context[Box]) -> None:
        for child in ctx.owned(ConfigMap):
            await ctx.delete(child)

    return operator


def by_name() -> Operator:
    """Return an operator that remembers by name what it has done."""
    operator = Operator("by-name")
    done: set[str] = set()

    @operator.reconciler(Box, owns=[ConfigMap])
    async def reconcile(box: Box, ctx: Context[Box]) -> None:
        if box.name not in done:
            await ctx.apply(ConfigMap(meta(box.name), data={"content": box.spec.content}))
            done.add(box.name)
        box.status.content = box.spec.content

    return operator


async def filled(cluster: Cluster) -> None:
    """Create a box."""
    await cluster.client.create(Box(meta("a", labels={"colour": "red"}), BoxSpec(content="one")))
    await cluster.settle()


async def filled_changed_and_deleted(cluster: Cluster) -> None:
    """Create, change and delete a box: the scenario has an object whose uid is another one by then."""
    box = await cluster.client.create(Box(meta("a"), BoxSpec(content="one")))
    await cluster.settle()
    await cluster.client.patch(box, {"spec": {"content": "two"}})
    await cluster.settle()
    await cluster.client.delete(box)


@pytest.mark.parametrize("make", [careful, cleaning])
@pytest.mark.parametrize("scenario", [filled, filled_changed_and_deleted])
def test_an_operator_that_looks_survives_a_new_object_with_an_old_name(make: object, scenario: object) -> None:
    """Its children belong to the old uid and are collected; the new object needs its own."""
    report = simulate(make, scenario, faults="F8", twice=True)  # type: ignore[arg-type]
    report.raise_if_failed()
    assert len(report.tried) > 3
    assert report.missed == []


def test_memory_by_name_is_found() -> None:
    """The uid is the identity; a name is not."""
    report = simulate(by_name, filled, faults="F8")
    assert "recreated@write:2" in [str(failure.plan) for failure in report.failures]
    assert "right before the write, and create them again" in report.text()


def test_it_is_tried_only_while_there_are_objects() -> None:
    """After the scenario has deleted them, there is nothing to recreate."""
    report = simulate(careful, filled_changed_and_deleted, faults="F8", stop_after=0)
    recording = report.reference.outcome.recording
    assert not recording.events[-1].has_objects
    assert len(recording.events) > sum(step.has_objects for step in recording.events) > 0


async def changed_while_the_operator_works(cluster: Cluster) -> None:
    """Read, change and update a box as a program does that fails if anything else changed it in between."""
    await cluster.client.create(Box(meta("a"), BoxSpec(content="one")))
    box = await cluster.client.get(Box, "a", namespace="default")
    box.spec.content = "two"
    await cluster.client.get(Box, "a", namespace="default")  # the operator begins to write meanwhile
    await cluster.client.update(box)
    await cluster.settle()


def test_a_scenario_that_needs_the_old_object_is_not_a_failure_of_the_operator() -> None:
    """The plan says nothing about the operator, so it is listed as not reached."""
    report = simulate(careful, changed_while_the_operator_works, faults="F8")
    assert report.failures == []
    assert "not reached" in report.summary()
