"""Reconciles with one status patch each, compared with client-go and kopf on embedded servers in one run.

Measured: wall and CPU time of the operator's process alone, and the time from a change to its reconcile.
"""

import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench.widgets import WORKERS, Progress, Widget, WidgetSpec, operator
from steersman import Client, meta
from steersman.manager.definitions import definitions_of
from steersman.manager.install import install_definitions
from steersman.manager.main import run_operators
from steersman.manager.manager import ManagerOptions
from steersman.transport.config import ClusterConfig

OBJECTS, KOPF_OBJECTS, CHANGES = 3000, 300, 300


@contextlib.contextmanager
def server() -> Iterator[Path]:
    """Run an embedded server in its own process; yield its kubeconfig."""
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        command = [sys.executable, "-m", "steersman.cli", "server", "--kubeconfig", str(kubeconfig)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield kubeconfig
        finally:
            process.terminate()
            process.wait()


async def fill(kubeconfig: str, count: int) -> None:
    """Install the kind and create the objects."""
    limit = asyncio.Semaphore(32)
    async with Client.connect(kubeconfig=kubeconfig) as client:
        await install_definitions(client, definitions_of([Widget]))

        async def one(number: int) -> None:
            async with limit:
                await client.create(Widget(meta(f"widget-{number:04d}"), WidgetSpec(replicas=1, notes=["note"] * 20)))

        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                tasks.create_task(one(number))


async def steersman(kubeconfig: Path) -> float:
    """Measure our operator; return its CPU seconds per reconcile."""
    config = ClusterConfig.from_kubeconfig(kubeconfig)
    progress = Progress()
    stop = asyncio.Event()
    async with Client.connect(kubeconfig=kubeconfig) as client, asyncio.TaskGroup() as tasks:
        started, cpu = time.perf_counter(), time.process_time()
        running = tasks.create_task(run_operators([operator(progress)], config, ManagerOptions(), stop))
        await progress.wait(OBJECTS)
        wall, used = time.perf_counter() - started, time.process_time() - cpu
        latencies = await changes(client, progress)
        stop.set()
        await running
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    p50, p99 = statistics.median(latencies), statistics.quantiles(latencies, n=100)[98]
    print(
        f"steersman: {OBJECTS} objects in {wall:.2f} s, {OBJECTS / wall:,.0f}/s, {used / OBJECTS * 1e6:.0f} µs CPU each"
    )
    print(f"           change to reconcile: p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms; at most {memory:.0f} MiB")
    return used / OBJECTS


async def changes(client: Client, progress: Progress) -> list[float]:
    """Change objects one after another; return the seconds until each was reconciled."""
    latencies = []
    for number in range(CHANGES):
        name = f"widget-{number:04d}"
        before = progress.done
        sent = time.perf_counter()
        await client.patch(Widget(meta(name, namespace="default"), WidgetSpec()), {"spec": {"replicas": 2}})
        await progress.wait(before + 1)
        latencies.append(progress.seen[name, 2] - sent)
    return latencies


KOPF = textwrap.dedent(
    """
    import asyncio, os, resource, sys, time
    import kopf

    done = 0

    @kopf.on.startup()
    def configure(settings, **_):
        settings.posting.enabled = False

    @kopf.on.create("bench.example.com", "v1", "widgets")
    @kopf.on.resume("bench.example.com", "v1", "widgets")
    async def handle(spec, patch, **_):
        global done
        patch.status["ready"] = spec.get("replicas", 0)
        done += 1
        if done == int(sys.argv[1]):
            used = resource.getrusage(resource.RUSAGE_SELF)
            cpu = used.ru_utime + used.ru_stime - before
            print(time.perf_counter() - started, cpu, used.ru_maxrss / 1024, flush=True)
            os._exit(0)

    usage = resource.getrusage(resource.RUSAGE_SELF)
    before, started = usage.ru_utime + usage.ru_stime, time.perf_counter()
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))
    """
)


def kopf(kubeconfig: Path) -> float | None:
    """Measure kopf with fewer objects, because it is slower; return its CPU seconds per reconcile."""
    try:
        answer = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", KOPF, str(KOPF_OBJECTS)],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        wall, used, memory = map(float, answer.stdout.split())
    except (subprocess.TimeoutExpired, ValueError):
        print("kopf: not installed, or it did not finish")
        return None
    each = used / KOPF_OBJECTS
    rate = KOPF_OBJECTS / wall
    shown = f"{KOPF_OBJECTS} objects in {wall:.2f} s, {rate:,.0f}/s, {each * 1e6:.0f} µs CPU each"
    print(f"kopf:      {shown}; {memory:.0f} MiB")
    return each


def client_go(kubeconfig: Path) -> float | None:
    """Measure a client-go controller if Go is installed; return its CPU seconds per reconcile."""
    folder = Path(__file__).parent / "go"
    binary = kubeconfig.with_name("reconcile")
    try:
        subprocess.run(["go", "build", "-o", str(binary), "./reconcile"], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607 - go as the user has it
        command = [str(binary), str(kubeconfig), str(OBJECTS), str(WORKERS)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 - just built
    except (OSError, subprocess.SubprocessError):
        print("client-go: cannot be built or did not finish")
        return None
    used = json.loads(answer.stdout)
    each, wall = used["cpu_seconds"] / OBJECTS, used["wall_seconds"]
    shown = f"{OBJECTS} objects in {wall:.2f} s, {OBJECTS / wall:,.0f}/s, {each * 1e6:.0f} µs CPU each"
    print(f"client-go: {shown}; {used['mib']:.0f} MiB")
    return each


def main() -> None:
    """Measure each with its own server."""
    with server() as kubeconfig:
        prepare(kubeconfig, OBJECTS)
        with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
            ours = runner.run(steersman(kubeconfig))
    with server() as kubeconfig:
        prepare(kubeconfig, KOPF_OBJECTS)
        peers = {"kopf": kopf(kubeconfig)}
    with server() as kubeconfig:
        prepare(kubeconfig, OBJECTS)
        peers["client-go"] = client_go(kubeconfig)
    for name, theirs in peers.items():
        if theirs is not None:
            print(f"CPU a reconcile, ours to {name}'s: {ours / theirs:.2f} : 1")


def prepare(kubeconfig: Path, count: int) -> None:
    """Fill a server from a separate process, whose time and memory are not measured."""
    code = f"import asyncio; from bench.reconcile import fill; asyncio.run(fill({str(kubeconfig)!r}, {count}))"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - ourselves


if __name__ == "__main__":
    main()
