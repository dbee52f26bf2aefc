"""How long a plan of 10,000 objects takes, and how much memory: all of them are new, each has a child and a status."""

import asyncio
import logging
import time

from bench._memory import rss
from bench.widgets import Widget
from steersman import Context, Operator, meta
from steersman.clock import RealClock
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster

OBJECTS = 10_000
#: Seconds of CPU, and MiB beside the objects of the embedded server itself.
BUDGET, MEMORY = 60.0, 400.0

operator = Operator("plan")


@operator.reconciler(Widget, owns=[ConfigMap])
async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
    """Apply a child, and set a condition."""
    await ctx.apply(ConfigMap(meta(widget.name), data={"text": "x" * 200}))
    ctx.condition("Ready", True, "Made")  # noqa: FBT003 - reads as the condition


async def measure() -> None:
    """Create the objects, and plan them."""
    clock = RealClock()
    async with Cluster.start(clock=clock) as cluster:
        await cluster.install(Widget)
        for number in range(OBJECTS):
            await cluster.client.create(Widget(meta(f"widget-{number}")))
        before, started, worked = rss(), clock.monotonic(), time.process_time()
        plan = await cluster.plan(operator)
        seconds, cpu, memory = clock.monotonic() - started, time.process_time() - worked, rss() - before
    assert len(plan.objects) == OBJECTS
    print(f"{OBJECTS:,} objects: {seconds:.1f} s, {cpu:.1f} s CPU (budget {BUDGET:g}), {memory:.0f} MiB ({MEMORY:g})")
    assert cpu <= BUDGET
    assert memory <= MEMORY


def main() -> None:
    """Measure once: nothing else is compared."""
    logging.disable(logging.CRITICAL)
    asyncio.run(measure())
