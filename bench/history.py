"""What the history costs: CPU of a reconcile with and without the recorder in turns, and the bytes of a record.

An operator in this process reconciles a few objects again and again, on a server in another process: every run changes
a field of the status and a condition, and in the second measurement also a child. Short blocks of reconciles alternate
between the recorder as it ships and one that notes nothing and adds nothing; which one is first alternates, too, so
that a drift of the machine has no effect. Metrics are counted in both.

There are two results for each. Records are made when they are read, so the first result is the cost for an operator
whose history is never read. For the second one every record is made, as if all were read: the highest possible cost.

With ``instructions`` as argument instructions are counted by callgrind instead of seconds, which other programs on the
machine do not change: ``python -m bench.history instructions``. It takes minutes.
"""

import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import uvloop

from bench.reconcile import prepare, server
from bench.widgets import Widget
from steersman import Context, Operator, meta
from steersman.controller.controller import Controller
from steersman.controller.run import run_record
from steersman.history.history import History
from steersman.history.records import ReconcileEnd
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.main import run_operators
from steersman.manager.manager import Manager, ManagerOptions
from steersman.transport.config import ClusterConfig

OBJECTS = 40
#: Runs of a block, and pairs of blocks; by seconds and by instructions.
BY_SECONDS, BY_INSTRUCTIONS = (80, 100), (40, 6)
#: Largest share of a reconcile's CPU, and bytes of a record.
BUDGET, BYTES = 0.03, 1024
_CALLGRIND = "STEERSMAN_BENCH_CALLGRIND"


class Counter:
    """Counts runs, and wakes the measurement after so many."""

    def __init__(self) -> None:
        self.runs = 0
        self._until = 0
        self._reached = asyncio.Event()

    def add(self) -> None:
        """Count one run."""
        self.runs += 1
        if self.runs == self._until:
            self._reached.set()

    async def wait(self, runs: int) -> None:
        """Wait for so many more runs."""
        self._reached.clear()
        self._until = self.runs + runs
        await self._reached.wait()


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
def unrecorded(history: History) -> Iterator[None]:
    """Record nothing in the block; runs are counted as before."""
    end = ReconcileEnd("widget", 0.001, 0.001, is_stale=False)

    def count(*_: object) -> None:
        history._notify(ReconcileEnd, end)  # noqa: SLF001 - what is left of adding a record

    with (
        mock.patch.object(run_record, "RunTrace", NoTrace),
        mock.patch.object(Controller, "_record", count),
        mock.patch.object(Controller, "_next_run", _nothing),
    ):
        yield


@dataclass(slots=True)
class Measured:
    """Cost of a reconcile in each block, by what was recorded; and the size of a record."""

    bare: list[float] = field(default_factory=list)
    recorded: list[float] = field(default_factory=list)
    differences: list[float] = field(default_factory=list)
    record_bytes: float = 0.0

    def add(self, bare: float, recorded: float) -> None:
        """Add a pair of blocks."""
        self.bare.append(bare)
        self.recorded.append(recorded)
        self.differences.append(recorded - bare)

    def text(self, what: str, unit: str, scale: float) -> str:
        """Return the result as a line: the median of the paired differences, and the quartiles around it."""
        off = statistics.median(self.bare)
        low, cost, high = statistics.quantiles(self.differences, n=4)
        return (
            f"{what}: {off * scale:,.0f} {unit} a reconcile without the recorder; it adds {cost * scale:,.1f} "
            f"({cost / off:.1%}; half of the pairs between {low / off:.1%} and {high / off:.1%}; budget {BUDGET:.0%})"
        )


async def measure(kubeconfig: Path, *, with_child: bool, makes_records: bool) -> Measured:
    """Measure one operator."""
    counter, stop, measured = Counter(), asyncio.Event(), Measured()
    meter, (runs, pairs) = (instructions, BY_INSTRUCTIONS) if _CALLGRIND in os.environ else (seconds, BY_SECONDS)

    async def block(history: History) -> float:
        await counter.wait(4)
        began, before = meter(), counter.runs
        await counter.wait(runs)
        if makes_records:
            history.make_records()
        return (meter() - began) / (counter.runs - before)

    async def bare_block(history: History) -> float:
        with unrecorded(history):
            return await block(history)

    async def take_turns(manager: Manager) -> None:
        history = manager.history
        await counter.wait(10 * OBJECTS)
        for number in range(pairs):
            if number % 2:
                bare, recorded = await bare_block(history), await block(history)
            else:
                recorded, bare = await block(history), await bare_block(history)
            measured.add(bare, recorded)
        history.make_records()
        measured.record_bytes = history.bytes / len(history)
        stop.set()

    config = ClusterConfig.from_kubeconfig(kubeconfig)
    await run_operators([operator(counter, with_child=with_child)], config, ManagerOptions(), stop, beside=take_turns)
    return measured


def seconds() -> float:
    """Return the CPU seconds of this process so far."""
    return time.process_time()


def instructions() -> float:
    """Return the instructions of this process so far; it runs in callgrind, which writes them to files."""
    folder = Path(os.environ[_CALLGRIND])
    subprocess.run(["callgrind_control", "--dump", str(os.getpid())], check=True, capture_output=True)  # noqa: S603, S607 - ours
    dumps = [path.read_text() for path in folder.glob("out.*")]
    return float(sum(int(count) for dump in dumps for count in re.findall(r"^totals: (\d+)", dump, re.MULTILINE)))


def main() -> None:
    """Measure both operators, in both ways."""
    if sys.argv[-1] == "instructions" and _CALLGRIND not in os.environ:
        in_callgrind()
        return
    unit, scale = ("instructions", 1.0) if _CALLGRIND in os.environ else ("µs CPU", 1e6)
    for with_child in (False, True):
        for makes_records in (False, True):
            with server() as kubeconfig:
                prepare(kubeconfig, OBJECTS)
                with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
                    measuring = measure(kubeconfig, with_child=with_child, makes_records=makes_records)
                    measured = runner.run(measuring)
            what = "status and a child" if with_child else "status"
            print(measured.text(f"{what}{', every record made' if makes_records else ''}", unit, scale), flush=True)
        print(f"{what}: {measured.record_bytes:.0f} bytes a record (budget {BYTES})", flush=True)


def in_callgrind() -> None:
    """Run the measurement in callgrind."""
    if shutil.which("valgrind") is None:
        sys.exit("counting instructions needs valgrind: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--quiet"]
        environment = {**os.environ, _CALLGRIND: folder, "PYTHONHASHSEED": "0"}
        subprocess.run([*command, sys.executable, "-m", "bench.history"], env=environment, check=True)  # noqa: S603 - ourselves


if __name__ == "__main__":
    main()
