"""A sharded operator on a real kube-apiserver: 20,000 objects over 1, 2 and 4 processes, and how fast a shard moves.

``OBJECTS=500 python -m bench shards_real`` is a quick try. Needs the programs that `make control-plane` builds.
Throughput is that of the whole machine, kube-apiserver and etcd included: with few cores they are the limit, and the
column of CPU shows what sharding itself costs. For a takeover, objects of one replica's shards are changed right after
that replica was stopped or killed; the time ends when another replica has reconciled all of them.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from bench._results import Results
from bench.real_server import fill
from bench.widgets import Widget
from steersman import Client
from steersman.clock import RealClock
from steersman.informer.informer import Informer
from steersman.kinds.coordination_v1 import Lease
from steersman.manager.leader.shard_election import TABLE
from steersman.sharding.assignment import Assignment
from steersman.sharding.ranges import shard_of
from tools.control_plane.binaries import Binaries
from tools.control_plane.processes import ControlPlane

OBJECTS = int(os.environ.get("OBJECTS", "20000"))
PROCESSES = (1, 2, 4)
#: Seconds of CPU of a reconcile beside its status patch.
WORK = (0.0, 0.002)
#: Rounds of each takeover.
TAKEOVERS = 3
#: Objects that change during a takeover.
_CHANGED = 20
_TARGET = "bench.sharded_widgets:operator"
_CLOCK = RealClock()
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def _operator(kubeconfig: Path, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run an operator inside the block; stop it at its end."""
    command = [sys.executable, "-m", "steersman.cli", "run", _TARGET, f"--kubeconfig={kubeconfig}", *options]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)  # noqa: S603 - ours
        try:
            yield process
        except BaseException:
            log.seek(0)
            print(log.read()[-2000:].decode(errors="replace"))
            raise
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _reconciled(port: int) -> float:
    """Return how many reconciles all processes have made."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            page = answer.read().decode()
    except (urllib.error.URLError, OSError):
        return 0.0
    samples = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name == "controller_runtime_reconcile_total")


def _cpu(process: int) -> float:
    """Return the CPU seconds of a process and of its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / _TICKS + sum(map(_cpu, map(int, children)))


async def _throughput(kubeconfig: Path, count: int, work: float) -> dict[str, float]:
    """Return how long an operator takes for all objects: from its start, and from the first reconcile."""
    port, phase = _free_port(), f"{count}-{work}"
    options = (f"--processes={count}", f"--metrics-port={port}")
    began, first = time.perf_counter(), 0.0
    with _operator(kubeconfig, *options, BENCH_PHASE=phase, BENCH_WORK=str(work)) as process:
        while (done := await asyncio.to_thread(_reconciled, port)) < OBJECTS:
            if done and not first:
                first, before = time.perf_counter(), done
            await _CLOCK.sleep(0.2)
        end, used = time.perf_counter(), _cpu(process.pid)
    rate = (OBJECTS - before) / (end - first) if first else 0.0
    return {"reconciles a second": rate, "wall from the start, s": end - began, "CPU of the operator, s": used}


async def _table(client: Client) -> Assignment:
    lease = await client.get(Lease, "bench-shards", "default")
    return Assignment.parse(lease.metadata.annotations[TABLE])


async def _settled(client: Client, replicas: int) -> Assignment:
    """Wait until all shards are held, by so many replicas."""
    async with _CLOCK.timeout(120):
        while True:
            try:
                table = await _table(client)
            except Exception:  # noqa: BLE001 - not there yet
                table = Assignment.empty(1)
            if None not in table.holders and len(set(table.holders)) == replicas:
                return table
            await _CLOCK.sleep(0.1)


async def _takeover(kubeconfig: Path, number: signal.Signals) -> float:
    """Return the seconds from the end of one of two replicas until the other has reconciled what changed since."""
    phase = {"BENCH_PHASE": f"{time.time_ns()}"}
    options = ("--leader-elect", "--shards=16")
    async with Client.connect(kubeconfig=str(kubeconfig)) as client, client.informer(Widget) as widgets:
        with _operator(kubeconfig, *options, **phase) as ending:
            former = (await _settled(client, 1)).holders[0]
            with _operator(kubeconfig, *options, **phase):
                table = await _settled(client, 2)
                mine = [one for one in widgets.list() if table.holders[shard_of(one.uid, table.count)] == former]
                ending.send_signal(number)
                began = time.perf_counter()
                await _change(client, mine[:_CHANGED])
                await _reached(widgets, mine[:_CHANGED])
                return time.perf_counter() - began


async def _change(client: Client, widgets: list[Widget]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for widget in widgets:
            widget.spec.replicas += 1
            tasks.create_task(client.patch(widget, {"spec": {"replicas": widget.spec.replicas}}))


async def _reached(cache: Informer[Widget], widgets: list[Widget]) -> None:
    """Wait until the status of each object shows its spec."""
    async with _CLOCK.timeout(120):
        while any((seen := cache.get(one.key)) is None or seen.status.ready != one.spec.replicas for one in widgets):
            await _CLOCK.sleep(0.02)


async def _measure(kubeconfig: Path) -> None:
    await fill(kubeconfig, 0, OBJECTS)
    for work in WORK:
        name = "shards_real" if not work else "shards_real_computing"
        text = f" and {work * 1000:.0f} ms of computation" if work else ""
        results = Results(name, f"{OBJECTS:,} objects, one status patch{text} each, real kube-apiserver")
        for count in PROCESSES:
            results.add(f"{count} process{'es' if count > 1 else ''}", **await _throughput(kubeconfig, count, work))
        results.show()
    results = Results("shards_takeover", "Seconds until another replica has reconciled what changed, two replicas")
    for _ in range(TAKEOVERS):
        results.add("SIGTERM", **{"takeover, s": await _takeover(kubeconfig, signal.SIGTERM)})
        results.add("SIGKILL", **{"takeover, s": await _takeover(kubeconfig, signal.SIGKILL)})
    results.show()


def main() -> None:
    """Measure, if a real control plane was built."""
    binaries = Binaries.if_built()
    if binaries is None:
        print("not measured: kube-apiserver is missing; `make control-plane` builds it")
        return
    with ControlPlane(binaries, controllers=False) as plane:
        asyncio.run(_measure(plane.kubeconfig))


if __name__ == "__main__":
    main()
