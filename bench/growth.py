"""Caches from 1,000 to 200,000 objects: CPU of the cold sync, memory, and CPU of a steady stream of updates.

Compared with client-go (as it ships) and kube-rs (lists, its default; and streaming) on a server that stores nothing,
so that it can have any number of objects. Growth should be linear: the chart has the CPU time and the memory over the
number of objects. ``BENCH_SIZES=1000,10000`` and ``BENCH_ROUNDS=1`` measure less.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench._memory import rss
from bench._peers import build_go, build_rust
from bench._results import Results, line_chart
from bench.informer import Counter
from bench.scripted import UPDATES_A_SECOND
from steersman.clock import RealClock
from steersman.informer.informer import Informer
from steersman.informer.list_watch_driver import ApiConnection
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.randomness import Randomness
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport

SIZES = [int(size) for size in os.environ.get("BENCH_SIZES", "1000,10000,50000,100000,200000").split(",")]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
#: Seconds of steady updates.
STEADY = 4
UPDATES = STEADY * UPDATES_A_SECOND
WIDGETS = ApiResource(gvk=GroupVersionKind("bench.example.com", "v1", "Widget"), plural="widgets")
OURS = (
    "import json, sys, uvloop; from bench.growth import steersman; "
    "print(json.dumps(uvloop.run(steersman(int(sys.argv[1]), int(sys.argv[2])))))"
)


async def steersman(port: int, objects: int) -> dict[str, float]:
    """Measure our informer."""
    clock = RealClock()
    transport = HttpTransport(ClusterConfig(server=f"http://127.0.0.1:{port}", compression=False), clock=clock)
    informer = Informer(Unstructured, ApiConnection(transport, clock, Randomness()), resource=WIDGETS)
    counter = Counter()
    informer.add_handler(counter)
    gc.collect()
    before = rss()
    started, cpu = time.perf_counter(), time.process_time()
    async with informer:
        synced, synced_cpu = time.perf_counter() - started, time.process_time() - cpu
        assert len(informer) == objects, len(informer)
        await counter.reached(objects)
        gc.collect()
        memory = rss() - before
        started, cpu, first = time.perf_counter(), time.process_time(), counter.seen
        await counter.reached(first + UPDATES)
        steady, steady_cpu = time.perf_counter() - started, time.process_time() - cpu
    await transport.close()
    return measures(objects, synced, synced_cpu, memory, steady_cpu / steady)


def measures(objects: int, synced: float, synced_cpu: float, memory: float, share: float) -> dict[str, float]:
    """Return the measures with their names."""
    return {
        "cold sync, s": synced,
        "cold sync, CPU s": synced_cpu,
        "cold sync, CPU µs an object": synced_cpu / objects * 1e6,
        "cached, MiB": memory,
        "cached, KiB an object": memory * 1024 / objects,
        f"{UPDATES_A_SECOND} updates a second, CPU %": share * 100,
    }


def peer(command: list[str], objects: int) -> dict[str, float] | None:
    """Measure a contender in another language."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603 - just built
    except (OSError, subprocess.SubprocessError) as error:
        print(f"not measured: {command[0]}: {error}")
        return None
    sync, memory, steady = map(json.loads, answer.stdout.splitlines())
    share = steady["cpu_seconds"] / steady["wall_seconds"]
    return measures(objects, sync["wall_seconds"], sync["cpu_seconds"], memory["cached_mib"], share)


def kubeconfig(folder: Path, port: int) -> str:
    """Write a kubeconfig for the scripted server; return its path."""
    cluster = {"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "bench", "context": {"cluster": "bench", "user": "bench"}}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context]}
    path = folder / f"kubeconfig-{port}"
    path.write_text(json.dumps({**config, "users": [{"name": "bench", "user": {}}], "current-context": "bench"}))
    return str(path)


def measure(results: Results, objects: int, go: Path | None, rust: Path | None, folder: Path) -> None:
    """Measure every contender in turns with a server of so many objects."""
    command = [sys.executable, "-m", "bench.scripted", str(objects)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        config, numbers = kubeconfig(folder, port), [str(objects), str(UPDATES)]
        contenders = {}
        if go is not None:
            contenders["client-go"] = [str(go / "informer"), config, *numbers]
        if rust is not None:
            contenders["kube-rs, list"] = [str(rust / "informer"), config, *numbers, "list"]
            contenders["kube-rs, streaming"] = [str(rust / "informer"), config, *numbers, "stream"]
        for _ in range(ROUNDS):
            ours = [sys.executable, "-c", OURS, str(port), str(objects)]
            shown = subprocess.run(ours, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - ourselves
            results.add("steersman", **json.loads(shown.stdout))
            for name, command in contenders.items():
                if (found := peer(command, objects)) is not None:
                    results.add(name, **found)
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Measure every size, and draw the growth."""
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {"cold sync, CPU s": {}, "cached, MiB": {}}
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        folder = Path(place)
        go, rust = build_go(folder, "informer"), build_rust()
        for objects in SIZES:
            print(f"\n{objects:,} objects", flush=True)
            results = Results(f"growth_{objects}", f"A cache of {objects:,} objects of 2.7 KB, from a scripted server")
            measure(results, objects, go, rust, folder)
            results.show()
            for measured, lines in curves.items():
                for name in results.values:
                    lines.setdefault(name, []).append((objects, results.medians(name)[measured]))
    line_chart("growth", "Caches of 1,000 to 200,000 objects", "objects", curves)


if __name__ == "__main__":
    main()
