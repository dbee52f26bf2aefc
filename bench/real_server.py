"""On a real kube-apiserver: cold sync of 20,000 custom resources, and 3,000 reconciles with a status patch each.

Compared with client-go (as it ships, and with plain lists), controller-runtime, kube-rs (lists and streaming lists, on
all cores and on one thread), java-operator-sdk, kopf, `kubernetes`, lightkube and kr8s. Each contender is a process of
its own, they take turns, and the medians of the rounds are compared. Needs the programs that `make control-plane`
builds; Go, Rust and Java with Maven for their contenders. ``BENCH_OBJECTS=100000`` syncs another number of objects.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from bench._peers import Peers
from bench._results import Results
from bench.widgets import Widget, WidgetSpec
from steersman import Client, meta
from steersman.manager.definitions import definitions_of
from steersman.manager.install import install_definitions
from tools.control_plane.binaries import Binaries
from tools.control_plane.processes import ControlPlane

OBJECTS = int(os.environ.get("BENCH_OBJECTS", "20000"))
RECONCILED, WORKERS, ROUNDS = 3_000, 16, 3
#: For kube-rs: its benchmarks then run on one thread, as ours does.
ONE_THREAD = {"ONE_THREAD": "1"}

OURS_SYNC = textwrap.dedent(
    """
    import asyncio, gc, json, sys, time, uvloop
    from bench._memory import rss
    from bench.widgets import Widget
    from steersman import Client

    async def main():
        started, cpu = time.perf_counter(), time.process_time()
        async with Client.connect(kubeconfig=sys.argv[1]) as client:
            async with client.informer(Widget) as informer:
                wall, used = time.perf_counter() - started, time.process_time() - cpu
                assert len(informer) == int(sys.argv[2]), len(informer)
                print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}))

    uvloop.run(main())
    """
)
OURS_RECONCILE = textwrap.dedent(
    """
    import asyncio, json, sys, time, uvloop
    from bench._memory import rss
    from bench.widgets import Progress, operator
    from steersman.manager.main import run_operators
    from steersman.manager.manager import ManagerOptions
    from steersman.transport.config import ClusterConfig

    async def main():
        progress, stop = Progress(), asyncio.Event()
        started, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as tasks:
            config = ClusterConfig.from_kubeconfig(sys.argv[1])
            running = tasks.create_task(run_operators([operator(progress)], config, ManagerOptions(), stop))
            await progress.wait(int(sys.argv[2]))
            wall, used = time.perf_counter() - started, time.process_time() - cpu
            print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}))
            stop.set()
            await running

    uvloop.run(main())
    """
)
KUBERNETES_SYNC = textwrap.dedent(
    """
    import json, sys, time
    from kubernetes import client, config
    from bench._memory import rss
    started, cpu = time.perf_counter(), time.process_time()
    config.load_kube_config(sys.argv[1])
    api = client.CustomObjectsApi()
    items = api.list_cluster_custom_object("bench.example.com", "v1", "widgets")["items"]
    assert len(items) == int(sys.argv[2]), len(items)
    wall, used = time.perf_counter() - started, time.process_time() - cpu
    print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}))
    """
)


LIGHTKUBE_SYNC = textwrap.dedent(
    """
    import json, sys, time
    from lightkube import Client, KubeConfig
    from lightkube.generic_resource import create_namespaced_resource
    from bench._memory import rss
    started, cpu = time.perf_counter(), time.process_time()
    Widget = create_namespaced_resource("bench.example.com", "v1", "Widget", "widgets")
    client = Client(config=KubeConfig.from_file(sys.argv[1]))
    items = list(client.list(Widget, namespace="*"))
    assert len(items) == int(sys.argv[2]), len(items)
    wall, used = time.perf_counter() - started, time.process_time() - cpu
    print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}))
    """
)
KR8S_SYNC = textwrap.dedent(
    """
    import asyncio, json, sys, time
    import kr8s.asyncio
    from bench._memory import rss

    async def main():
        started, cpu = time.perf_counter(), time.process_time()
        api = await kr8s.asyncio.api(kubeconfig=sys.argv[1])
        items = [item async for item in api.get("widgets.bench.example.com", namespace=kr8s.ALL)]
        assert len(items) == int(sys.argv[2]), len(items)
        wall, used = time.perf_counter() - started, time.process_time() - cpu
        print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}))

    asyncio.run(main())
    """
)
KOPF_RECONCILE = textwrap.dedent(
    """
    import asyncio, json, os, sys, time
    import kopf
    from bench._memory import rss

    done = 0

    @kopf.on.startup()
    def configure(settings, **_):
        settings.posting.enabled = False
        settings.queueing.worker_limit = 16
        # A worker waits here for more events of its object before it takes another: with kopf's own 5 s, sixteen
        # workers would need a quarter of an hour. Without a limit it takes longer too, and three times the memory.
        settings.queueing.idle_timeout = 0.01

    @kopf.on.create("bench.example.com", "v1", "widgets")
    async def handle(spec, meta, patch, **_):
        global done
        patch.status["observedGeneration"] = meta["generation"]
        patch.status["ready"] = spec.get("replicas", 0)
        patch.status["phase"] = "Ready"
        done += 1
        if done == int(sys.argv[2]):
            wall, used = time.perf_counter() - started, time.process_time() - cpu
            print(json.dumps({"wall_seconds": wall, "cpu_seconds": used, "mib": rss()}), flush=True)
            os._exit(0)

    started, cpu = time.perf_counter(), time.process_time()
    asyncio.run(kopf.operator(clusterwide=True, standalone=True))
    """
)


async def fill(kubeconfig: Path, first: int, count: int) -> None:
    """Create objects of about 2.7 KB each."""
    limit = asyncio.Semaphore(32)
    async with Client.connect(kubeconfig=str(kubeconfig)) as client:
        await install_definitions(client, definitions_of([Widget]))

        async def one(number: int) -> None:
            async with limit:
                spec = WidgetSpec(replicas=1, notes=[f"note {number} {index} " + "x" * 90 for index in range(20)])
                await client.create(Widget(meta(f"widget-{number:05d}"), spec))

        async with asyncio.TaskGroup() as tasks:
            for number in range(first, first + count):
                tasks.create_task(one(number))


async def _empty(kubeconfig: Path) -> None:
    async with Client.connect(kubeconfig=str(kubeconfig)) as client:
        await client.delete_all(Widget, namespace="default")


async def _forget_statuses(kubeconfig: Path) -> None:
    limit = asyncio.Semaphore(32)
    async with Client.connect(kubeconfig=str(kubeconfig)) as client:

        async def one(number: int) -> None:
            async with limit:
                target = Widget(meta(f"widget-{number:05d}", namespace="default"), WidgetSpec())
                await client.status.patch(target, {"status": None})

        async with asyncio.TaskGroup() as tasks:
            for number in range(RECONCILED):
                tasks.create_task(one(number))


def _measured(command: list[str], **environment: str) -> dict[str, Any] | None:
    """Run a contender; its first line of output is the result."""
    try:
        answer = subprocess.run(  # noqa: S603 - our own programs
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=True, timeout=300
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"not measured: {command[0]}: {error}")
        return None
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[0])
    return found


def _note(results: Results, name: str, found: dict[str, Any] | None) -> None:
    if found is not None:
        used = {"wall, s": found["wall_seconds"], "CPU, s": found["cpu_seconds"], "memory, MiB": found["mib"]}
        results.add(name, **used)


def _sync(plane: ControlPlane, peers: Peers) -> None:
    name = "cold_sync" if OBJECTS == 20_000 else f"cold_sync_{OBJECTS}"
    results = Results(name, f"Cold sync of {OBJECTS:,} custom resources from a real kube-apiserver")
    config, count = str(plane.kubeconfig), str(OBJECTS)
    for _ in range(ROUNDS):
        _note(results, "steersman", _measured([sys.executable, "-c", OURS_SYNC, config, count]))
        if peers.go is not None:
            command = [str(peers.go / "informer"), config, count, "0"]
            _note(results, "client-go, as it ships", _measured(command))
            _note(results, "client-go, plain list", _measured(command, KUBE_FEATURE_WatchListClient="false"))
        if peers.rust is not None:
            command = [str(peers.rust / "informer"), config, count, "0"]
            _note(results, "kube-rs, list", _measured([*command, "list"]))
            _note(results, "kube-rs, list, one thread", _measured([*command, "list"], **ONE_THREAD))
            _note(results, "kube-rs, streaming", _measured([*command, "stream"]))
            _note(results, "kube-rs, streaming, one thread", _measured([*command, "stream"], **ONE_THREAD))
        _note(results, "kubernetes, list only", _measured([sys.executable, "-c", KUBERNETES_SYNC, config, count]))
        _note(results, "lightkube, list only", _measured([sys.executable, "-c", LIGHTKUBE_SYNC, config, count]))
    # Once: it takes about a minute.
    _note(results, "kr8s, list only", _measured([sys.executable, "-c", KR8S_SYNC, config, count]))
    results.show()


def _reconcile(plane: ControlPlane, peers: Peers) -> None:
    results = Results("reconcile", f"{RECONCILED:,} objects, one status patch each, 16 workers, real kube-apiserver")
    config, count, workers = str(plane.kubeconfig), str(RECONCILED), str(WORKERS)

    def measure(name: str, command: list[str], **environment: str) -> None:
        asyncio.run(_forget_statuses(plane.kubeconfig))
        _note(results, name, _measured(command, **environment))

    for _ in range(ROUNDS):
        measure("steersman", [sys.executable, "-c", OURS_RECONCILE, config, count])
        if peers.go is not None:
            measure("client-go", [str(peers.go / "reconcile"), config, count, workers])
            measure("controller-runtime", [str(peers.go / "runtime"), config, count, workers])
        if peers.rust is not None:
            command = [str(peers.rust / "reconcile"), config, count, workers]
            measure("kube-rs", command)
            measure("kube-rs, one thread", command, **ONE_THREAD)
        if peers.java is not None:
            classpath = f"{peers.java}/classes:{peers.java}/lib/*"
            measure("java-operator-sdk", ["java", "-cp", classpath, "bench.Reconcile", config, count, workers])
    # Once, and last: it takes about a minute, and leaves annotations on every object.
    measure("kopf", [sys.executable, "-c", KOPF_RECONCILE, config, count], KUBECONFIG=config)
    results.show()


def main() -> None:
    """Measure, if a real control plane was built."""
    binaries = Binaries.if_built()
    if binaries is None:
        print("not measured: kube-apiserver is missing; `make control-plane` builds it")
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, ControlPlane(binaries, controllers=False) as plane:
        peers = Peers.built(Path(folder))
        asyncio.run(fill(plane.kubeconfig, 0, RECONCILED))
        _reconcile(plane, peers)
        # New objects: the others have the status and annotations of the operators before.
        asyncio.run(_empty(plane.kubeconfig))
        asyncio.run(fill(plane.kubeconfig, 0, OBJECTS))
        _sync(plane, peers)
