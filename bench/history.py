"""What the history costs: CPU of a reconcile with and without the recorder in turns, and the bytes of a record.

An operator in this process reconciles a few objects again and again, on a server in another process: every run changes
a field of the status and a condition, and in the second measurement also a child. Each block of reconciles is measured
with the recorder as it ships, then with one that notes nothing and adds nothing.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import uvloop

from bench.reconcile import prepare, server
from bench.widgets import Widget
from steersman import Context, Operator, meta
from steersman.controller.controller import Controller
from steersman.controller.run import run_record
from steersman.history.history import History
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.main import run_operators
from steersman.manager.manager import Manager, ManagerOptions
from steersman.transport.config import ClusterConfig

OBJECTS, BLOCK, ROUNDS = 40, 400, 12
#: Largest share of a reconcile's CPU, and bytes of a record.
BUDGET, BYTES = 0.03, 1024


class Counter:
    """Counts runs, and wakes the measurement after each block."""

    def __init__(self) -> None:
        self.runs = 0
        self.block_ended = asyncio.Event()

    def add(self) -> None:
        """Count one run."""
        self.runs += 1
        if self.runs % BLOCK == 0:
            self.block_ended.set()

    async def wait_block(self) -> None:
        """Wait for the end of a block."""
        self.block_ended.clear()
        await self.block_ended.wait()


def operator(counter: Counter, *, with_child: bool) -> Operator:
    """Create the measured operator."""
    made = Operator("history")

    @made.reconciler(Widget, owns=[ConfigMap] if with_child else [], workers=4)
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        widget.status.ready += 1
        ctx.condition("Ready", True, "Counted", f"{widget.status.ready} runs")  # noqa: FBT003 - reads as the condition
        if with_child:
            ctx.owned(ConfigMap)
            await ctx.apply(ConfigMap(meta(widget.name), data={"runs": str(widget.status.ready), "text": "x" * 200}))
        ctx.requeue_after(0.001)
        counter.add()

    return made


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


class NoTrace(run_record.RunTrace):
    """Takes every note and keeps none."""

    read_object = read_list = wrote = wrote_status = _nothing


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record nothing in the block."""
    with mock.patch.object(run_record, "RunTrace", NoTrace), mock.patch.object(Controller, "_record", _nothing):
        yield


async def measure(kubeconfig: Path, *, with_child: bool) -> tuple[list[float], list[float], History]:
    """Return the CPU seconds of a reconcile with and without the recorder, of each block, and the history."""
    counter, stop = Counter(), asyncio.Event()
    found: list[Manager] = []
    recorded, bare = list[float](), list[float]()

    async def block() -> float:
        await counter.wait_block()
        began, runs = time.process_time(), counter.runs
        await counter.wait_block()
        return (time.process_time() - began) / (counter.runs - runs)

    async def take_turns(manager: Manager) -> None:
        found.append(manager)
        await counter.wait_block()
        for _ in range(ROUNDS):
            recorded.append(await block())
            with unrecorded():
                bare.append(await block())
        stop.set()

    config = ClusterConfig.from_kubeconfig(kubeconfig)
    running = run_operators(
        [operator(counter, with_child=with_child)], config, ManagerOptions(), stop, beside=take_turns
    )
    await running
    return recorded, bare, found[0].history


def main() -> None:
    """Measure both operators."""
    for with_child in (False, True):
        with server() as kubeconfig:
            prepare(kubeconfig, OBJECTS)
            with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
                recorded, bare, history = runner.run(measure(kubeconfig, with_child=with_child))
        what = "status and a child" if with_child else "status"
        on, off = statistics.median(recorded), statistics.median(bare)
        cost = statistics.median(one - other for one, other in zip(recorded, bare, strict=True))
        print(
            f"{what}: {on * 1e6:.0f} µs CPU a reconcile, {off * 1e6:.0f} without the recorder: {cost * 1e6:.1f} µs, "
            f"{cost / off:.1%} (budget {BUDGET:.0%}); "
            f"{history.bytes / len(history):.0f} bytes a record (budget {BYTES})"
        )


if __name__ == "__main__":
    main()
