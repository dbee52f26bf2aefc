"""The informer: cold sync, watch ingest, memory per cached object. One process serves, the measured one only reads."""

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._memory import rss
from bench._results import Results
from steersman.clock import RealClock
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.protocol.http import Exchange, Request, Response, Stream
from steersman.randomness import Randomness
from steersman.serving.server import Listen, Server
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport

OBJECTS = 20_000
UPDATES = 60_000
ROUNDS = 3
WIDGETS = ApiResource(gvk=GroupVersionKind("bench.example.com", "v1", "Widget"), plural="widgets")
JSON = [("content-type", "application/json")]


def widget(number: int, version: int, *, padding: int) -> dict[str, Any]:
    """Return an object with managedFields, as after status writes of an operator."""
    fields = {f"f:field{n}": {} for n in range(20)}
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}}
    managed = [{"manager": who, **entry} for who in ("kubectl", "operator")]
    return {
        "apiVersion": "bench.example.com/v1",
        "kind": "Widget",
        "metadata": {
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "generation": version % 7 + 1,
            "labels": {"app": f"app-{number % 10}"},
            "managedFields": managed,
            "name": f"widget-{number:05d}",
            "namespace": f"ns-{number % 20}",
            "resourceVersion": str(1000 + version),
            "uid": f"00000000-0000-4000-8000-{number:012d}",
        },
        # Only fields that the Go type has, so that both store the same.
        "spec": {"color": "red", "replicas": number, "notes": ["x" * 73 for _ in range(padding // 76)]},
        "status": {"observedGeneration": version % 7 + 1, "ready": number, "phase": "Ready"},
    }


def line(event: str, document: dict[str, Any]) -> bytes:
    """Return the frame of one event."""
    return json.dumps({"type": event, "object": document}, separators=(",", ":")).encode() + b"\n"


class Flood:
    """Serves a list of objects, then sends all updates on the watch as fast as the reader accepts them."""

    def __init__(self) -> None:
        items = [widget(number, number, padding=1500) for number in range(OBJECTS)]
        listed = {"kind": "WidgetList", "apiVersion": "bench.example.com/v1"}
        self._list = json.dumps(
            {**listed, "metadata": {"resourceVersion": str(1000 + OBJECTS)}, "items": items}, separators=(",", ":")
        ).encode()
        frames = [
            line("MODIFIED", widget(number % OBJECTS, OBJECTS + 1 + number, padding=600)) for number in range(UPDATES)
        ]
        self._chunks = [b"".join(frames[start : start + 50]) for start in range(0, UPDATES, 50)]

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Respond to a list at once, and to a watch in chunks."""
        if "watch=" not in request.target:
            exchange.respond(Response(200, JSON, self._list))
            return
        if "sendInitialEvents" in request.target:
            refusal = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}'
            exchange.respond(Response(422, JSON, refusal))
            return
        stream = exchange.stream(200, JSON)
        chunks = iter(self._chunks)

        def pump() -> None:
            while stream.is_open and stream.is_writable:
                chunk = next(chunks, None)
                if chunk is None:
                    return
                stream.write(chunk)

        stream.on_writable(pump)
        asyncio.get_running_loop().call_later(0.5, pump)
        self._keep: Stream = stream


async def serve() -> None:
    """Serve until killed; print the port first."""
    async with Server(Flood(), clock=RealClock(), listen=Listen()) as server:
        print(server.port, flush=True)
        await asyncio.get_running_loop().create_future()


class Counter:
    """A handler that counts changes."""

    def __init__(self) -> None:
        self.seen = 0
        self._wanted = 0
        self._reached = asyncio.Event()

    def __call__(self, _: object) -> None:
        """Count one change."""
        self.seen += 1
        if self.seen == self._wanted:
            self._reached.set()

    async def reached(self, wanted: int) -> None:
        """Wait for a number of changes."""
        if self.seen < wanted:
            self._wanted = wanted
            self._reached.clear()
            await self._reached.wait()


async def steersman(port: int) -> dict[str, float]:
    """Measure our informer."""
    clock = RealClock()
    transport = HttpTransport(ClusterConfig(server=f"http://127.0.0.1:{port}", compression=False), clock=clock)
    informer = Informer(
        Unstructured, ApiConnection(transport, clock, Randomness()), Selection(watch_list=False), resource=WIDGETS
    )
    counter = Counter()
    informer.add_handler(counter)
    gc.collect()
    before = rss()
    started, cpu = time.perf_counter(), time.process_time()
    async with informer:
        synced, synced_cpu = time.perf_counter() - started, time.process_time() - cpu
        assert len(informer) == OBJECTS
        await counter.reached(OBJECTS)
        gc.collect()
        memory = rss() - before
        last = str(1000 + OBJECTS + UPDATES)
        await counter.reached(OBJECTS + 1)
        started, cpu, first = time.perf_counter(), time.process_time(), counter.seen
        await counter.reached(OBJECTS + UPDATES)
        took, took_cpu = time.perf_counter() - started, time.process_time() - cpu
        assert any(one.resource_version == last for one in informer.store.records())
        rate = (OBJECTS + UPDATES - first) / took
        each = took_cpu / (OBJECTS + UPDATES - first)
    await transport.close()
    return _measures(synced, synced_cpu, memory, rate, each)


def _measures(synced: float, synced_cpu: float, memory: float, rate: float, each: float) -> dict[str, float]:
    """Return the measures with their names."""
    return {
        "cold sync, s": synced,
        "cold sync, CPU s": synced_cpu,
        "cached, KiB an object": memory * 1024 / OBJECTS,
        "CPU, µs an event": each * 1e6,
        "ms for 1,000 events": 1e6 / rate,
    }


def client_go(port: int) -> dict[str, float] | None:
    """Measure client-go's informer on the same server, if Go is installed."""
    with tempfile.TemporaryDirectory() as directory:
        binary, kubeconfig = Path(directory) / "informer", Path(directory) / "kubeconfig"
        cluster = {"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context = {"name": "bench", "context": {"cluster": "bench", "user": ""}}
        config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context]}
        kubeconfig.write_text(json.dumps({**config, "current-context": "bench"}))
        folder = Path(__file__).parent / "go"
        try:
            build = ["go", "build", "-o", str(binary), "./informer"]
            subprocess.run(build, cwd=folder, check=True, capture_output=True)  # noqa: S603 - go as the user has it
            command = [str(binary), str(kubeconfig), str(OBJECTS), str(UPDATES)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 - just built
        except (OSError, subprocess.SubprocessError):
            print("client-go: cannot be built or did not finish")
            return None
    sync, memory, ingest = map(json.loads, answer.stdout.splitlines())
    rate, each = UPDATES / ingest["wall_seconds"], ingest["cpu_seconds"] / UPDATES
    return _measures(sync["wall_seconds"], sync["cpu_seconds"], memory["cached_mib"], rate, each)


def main() -> None:
    """Start the server in its own process, then measure both in turns."""
    code = "import asyncio; from bench.informer import serve; asyncio.run(serve())"
    ours = "import asyncio, json, sys; from bench.informer import steersman; "
    ours += "print(json.dumps(asyncio.run(steersman(int(sys.argv[1])))))"
    title = f"An informer of {OBJECTS:,} objects of 2.7 KB, then {UPDATES:,} updates of 1.7 KB, from a scripted server"
    results = Results("informer", title)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        for _ in range(ROUNDS):
            command = [sys.executable, "-c", ours, str(port)]
            shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - ourselves
            results.add("steersman", **json.loads(shown.stdout))
            if (peer := client_go(port)) is not None:
                results.add("client-go", **peer)
    finally:
        process.kill()
        process.wait()
    results.show()


if __name__ == "__main__":
    main()
