"""What the history costs: instructions of a reconcile with and without the recorder, and the bytes of a record.

An operator reconciles a few objects again and again, on a server in another process: every run changes a field of the
status and a condition, and in the second measurement also a child. It runs under Valgrind, which counts its
instructions: CPU time varies by more than the whole cost of the history. Blocks of reconciles alternate between the
recorder as it ships and one that notes nothing and adds nothing. Metrics are counted in both. Instructions of the
kernel are not counted; with them a reconcile costs more, and the share of the history is smaller.

Two results for each: records are made when they are read, so the first is what an operator pays without readers.
The second is measured while every record is made, as if all were read: the most that it can cost.
"""

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import uvloop

from bench._instructions import CountedProgram, can_count
from bench.reconcile import prepare, server
from bench.widgets import Widget
from steersman import Context, Operator, meta
from steersman.clock import Clock
from steersman.controller import controller as controller_module
from steersman.controller.owned import Owned
from steersman.controller.predicates import always, negate
from steersman.controller.recording.run_trace import RunTrace
from steersman.controller.run.reconcile_record import RunRecorder
from steersman.history.history import History
from steersman.history.records import ReconcileEnd
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.main import run_operators
from steersman.manager.manager import Manager, ManagerOptions
from steersman.transport.config import ClusterConfig
from steersman.workqueue.queue import WorkQueue

#: Objects, runs of a block, and rounds of blocks.
OBJECTS, RUNS, ROUNDS = 20, 200, 3
#: Largest share of a reconcile, and bytes of a record.
BUDGET, BYTES = 0.03, 1024
_CHILD = "child"


class Pace:
    """Lets the objects run until there were so many runs, and waits for that."""

    def __init__(self) -> None:
        self._all = asyncio.Event()
        self._left = 0
        self._end = asyncio.Event()
        self._wakers: dict[str, Callable[[], None]] = {}

    def ran(self, ctx: Context[Widget], name: str) -> None:
        """Count one run, and let the object run again if more are wanted."""
        self._wakers.setdefault(name, ctx.waker())
        if len(self._wakers) == OBJECTS:
            self._all.set()
        if self._left <= 0:
            return
        self._left -= 1
        if self._left >= OBJECTS:
            ctx.requeue_after(0.001)
        if not self._left:
            self._end.set()

    async def run(self, count: int) -> None:
        """Wait for so many runs, a multiple of the number of objects."""
        await self._all.wait()
        self._left = count
        self._end.clear()
        for wake in self._wakers.values():
            wake()
        await self._end.wait()
        await asyncio.sleep(0.3)  # the last runs write their status, and the watch shows it


def operator(pace: Pace, *, with_child: bool) -> Operator:
    """Create the measured operator."""
    made = Operator("history")
    # Without runs because of the child: only the timer triggers them, so that a block ends.
    child = Owned(ConfigMap, when=negate(always))

    @made.reconciler(Widget, owns=[child] if with_child else [], workers=4)
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        widget.status.ready += 1
        ctx.condition("Ready", True, "Counted", f"{widget.status.ready} runs")  # noqa: FBT003 - reads as the condition
        if with_child:
            ctx.owned(ConfigMap)
            await ctx.apply(ConfigMap(meta(widget.name), data={"runs": str(widget.status.ready), "text": "x" * 200}))
        pace.ran(ctx, widget.name)

    return made


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


class NoTrace(RunTrace):
    """Takes every note and keeps none."""

    read_object = read_list = wrote = wrote_status = event = answered = _nothing  # type: ignore[assignment]

    @classmethod
    def begin(cls, clock: Clock) -> RunTrace:
        """Return a trace that knows when it began, for the metrics, but no date."""
        return cls(clock, clock.monotonic(), datetime.min.replace(tzinfo=UTC))

    def request(self, request: object) -> object:  # type: ignore[override]
        """Return the request itself: nothing is wrapped around it."""
        return request


@contextmanager
def unrecorded(history: History) -> Iterator[None]:
    """Record nothing in the block; runs are counted as before."""
    end = ReconcileEnd("widget", 0.001, 0.001, is_stale=False)

    def count(*_: object) -> None:
        history._notify(ReconcileEnd, end)  # noqa: SLF001 - what is left of adding a record

    with (
        mock.patch.object(controller_module, "RunTrace", NoTrace),
        mock.patch.object(controller_module, "RunEnd", _nothing),
        mock.patch.object(controller_module, "RunTiming", _nothing),
        mock.patch.object(RunRecorder, "record", count),
        mock.patch.object(WorkQueue, "due_at", _nothing),
    ):
        yield


async def answer_lines(manager: Manager, pace: Pace) -> None:
    """Run a block of reconciles for each line of the standard input: ``bare``, ``recorded`` or ``made``."""
    history, lines = manager.history, asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := (await lines.readline()).decode():
        match line.strip():
            case "bare":
                with unrecorded(history):
                    await pace.run(RUNS)
            case "recorded":
                await pace.run(RUNS)
            case "made":
                await pace.run(RUNS)
                history.make_records()
            case "":
                await pace.run(OBJECTS)
            case "make":
                history.make_records()
        print(history.bytes // max(len(history), 1), flush=True)


async def run_measured(kubeconfig: Path, *, with_child: bool) -> None:
    """Run the operator until the standard input ends."""
    pace, stop = Pace(), asyncio.Event()

    async def beside(manager: Manager) -> None:
        await answer_lines(manager, pace)
        stop.set()

    config = ClusterConfig.from_kubeconfig(kubeconfig)
    await run_operators([operator(pace, with_child=with_child)], config, ManagerOptions(), stop, beside=beside)


def text_of(what: str, bare: list[float], recorded: list[float]) -> str:
    """Return a result as a line: the shares of all rounds."""
    shares = sorted((one - base) / base for one, base in zip(recorded, bare, strict=True))
    cost = statistics.median(recorded) - statistics.median(bare)
    return (
        f"{what}: {statistics.median(bare) / 1e3:,.0f} thousand instructions a reconcile without the recorder; "
        f"it adds {cost / 1e3:,.1f} thousand ({statistics.median(shares):.1%}; all rounds between {shares[0]:.1%} "
        f"and {shares[-1]:.1%}; budget {BUDGET:.0%})"
    )


def measure(*, with_child: bool) -> None:
    """Measure one operator, and print the results."""
    what = "status and a child" if with_child else "status"
    with server() as kubeconfig, tempfile.TemporaryDirectory() as directory:
        prepare(kubeconfig, OBJECTS)
        arguments = [str(kubeconfig), *([_CHILD] if with_child else [])]
        counts: dict[str, list[float]] = {"bare": [], "recorded": [], "made": []}
        with CountedProgram(Path(directory), "bench.history", *arguments) as program:
            program.ask("recorded")
            for _ in range(ROUNDS):
                for block, counted in counts.items():
                    if block == "made":
                        program.ask("make")
                    counted.append(program.count(block) / RUNS)
            size = int(program.ask("make"))
    print(text_of(what, counts["bare"], counts["recorded"]), flush=True)
    print(text_of(f"{what}, every record made", counts["bare"], counts["made"]), flush=True)
    print(f"{what}: {size} bytes a record (budget {BYTES})", flush=True)


def main() -> None:
    """Measure both operators; as the measured program, run one of them."""
    if not can_count():
        print("history: needs valgrind, which counts instructions")
        return
    for with_child in (False, True):
        measure(with_child=with_child)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.Loop) as _runner:
        _runner.run(run_measured(Path(sys.argv[1]), with_child=_CHILD in sys.argv))
