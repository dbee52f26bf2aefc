"""CPU time of one watch event in a client: ours compared with kubernetes, kubernetes-asyncio, lightkube and kr8s.

Every client, in a process of its own, follows the same server, which sends prebuilt events of 1.7 KB as fast as they
are taken; each counts the typed objects that it hands to its caller. Import and connecting are not counted.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench._results import Results
from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.protocol.http import Exchange, Request, Stream
from steersman.serving.server import Server

EVENTS = 20_000
ROUNDS = 3
#: Events before the measurement starts, which exclude one-time costs of a client.
WARM_UP = 500
_BATCH = 50


def frame(number: int) -> bytes:
    """Return one event about a ConfigMap of 1.7 KB, as a server sends it."""
    metadata = {
        "name": f"config-{number % 1000}",
        "namespace": "default",
        "uid": f"00000000-0000-4000-8000-{number % 1000:012d}",
        "resourceVersion": str(1000 + number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "bench", "tier": "one"},
    }
    data = {f"key-{index}": "value of some length " * 3 for index in range(20)}
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}
    return json.dumps({"type": "MODIFIED", "object": obj}, separators=(",", ":")).encode() + b"\n"


class Blaster:
    """An API server whose watches send prebuilt events endlessly."""

    def __init__(self) -> None:
        self._api = ApiServer()
        self._batches = [
            b"".join(map(frame, range(start, start + _BATCH))) for start in range(0, EVENTS + WARM_UP + 2000, _BATCH)
        ]

    def handle(self, request: Request, exchange: Exchange) -> Any:
        """Send events to watches; pass other requests to the server."""
        if "watch=" not in request.target or "sendInitialEvents" in request.target:
            return self._api.handle(request, exchange)
        stream = exchange.stream(200, [("content-type", "application/json")])
        left = iter(self._batches)
        stream.on_writable(lambda: self._pump(stream, left))
        self._pump(stream, left)
        return None

    @staticmethod
    def _pump(stream: Stream, left: Any) -> None:
        while stream.is_open and stream.is_writable and (batch := next(left, None)) is not None:
            stream.write(batch)


class Count:
    """Counts events, and the CPU time between the first and the last measured one."""

    def __init__(self) -> None:
        self.seen = 0
        self._begun = 0.0

    def one(self) -> bool:
        """Count one event; return whether it was the last."""
        self.seen += 1
        if self.seen == WARM_UP:
            self._begun = _cpu()
        return self.seen == WARM_UP + EVENTS

    def report(self) -> None:
        """Print the microseconds of an event."""
        print(json.dumps((_cpu() - self._begun) / EVENTS * 1e6))


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def follow_steersman() -> None:
    """Watch with our client."""
    from steersman import Client  # noqa: PLC0415 - each client loads only itself
    from steersman.kinds.core_v1 import ConfigMap  # noqa: PLC0415 - each client loads only itself

    count = Count()
    async with (
        Client.connect(kubeconfig=os.environ["KUBECONFIG"]) as client,
        client.watch(ConfigMap, since="1") as events,
    ):
        async for _ in events:
            if count.one():
                break
    count.report()


async def follow_kubernetes() -> None:
    """Watch with the official client."""
    from kubernetes import client, config, watch  # noqa: PLC0415 - each client loads only itself

    config.load_kube_config()
    count = Count()
    api = client.CoreV1Api()
    for _ in watch.Watch().stream(api.list_namespaced_config_map, "default", resource_version="1"):
        if count.one():
            break
    count.report()


async def follow_kubernetes_asyncio() -> None:
    """Watch with the asynchronous client."""
    from kubernetes_asyncio import client, config, watch  # noqa: PLC0415 - each client loads only itself

    await config.load_kube_config()
    count = Count()
    async with client.ApiClient() as connection:
        api = client.CoreV1Api(connection)
        async with watch.Watch().stream(api.list_namespaced_config_map, "default", resource_version="1") as events:
            async for _ in events:
                if count.one():
                    break
    count.report()


async def follow_lightkube() -> None:
    """Watch with lightkube."""
    from lightkube import AsyncClient  # noqa: PLC0415 - each client loads only itself
    from lightkube.resources.core_v1 import ConfigMap  # noqa: PLC0415 - each client loads only itself

    count = Count()
    async for _ in AsyncClient().watch(ConfigMap, namespace="default", resource_version="1"):
        if count.one():
            break
    count.report()


async def follow_kr8s() -> None:
    """Watch with kr8s."""
    import kr8s.asyncio  # noqa: PLC0415 - each client loads only itself

    count = Count()
    api = await kr8s.asyncio.api()
    async for _ in api.watch("configmaps", namespace="default", since="1"):
        if count.one():
            break
    count.report()


CLIENTS: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
    "steersman": follow_steersman,
    "lightkube": follow_lightkube,
    "kubernetes": follow_kubernetes,
    "kubernetes-asyncio": follow_kubernetes_asyncio,
    "kr8s": follow_kr8s,
}


@asynccontextmanager
async def _kubeconfig() -> AsyncIterator[Path]:
    async with Server(Blaster(), clock=RealClock()) as server:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kubeconfig"
            path.write_text(
                "apiVersion: v1\nkind: Config\ncurrent-context: bench\n"
                f"clusters: [{{name: bench, cluster: {{server: '{server.url}'}}}}]\n"
                "users: [{name: bench, user: {}}]\n"
                "contexts: [{name: bench, context: {cluster: bench, user: bench, namespace: default}}]\n"
            )
            yield path


async def _measure() -> dict[str, list[float]]:
    took: dict[str, list[float]] = {name: [] for name in CLIENTS}
    async with _kubeconfig() as path:
        for _ in range(ROUNDS):
            for name in CLIENTS:
                child = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-W", "ignore", "-m", "bench.watch_clients", name),
                    env={**os.environ, "KUBECONFIG": str(path)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
                answer, trouble = await child.communicate()
                if child.returncode:
                    sys.exit(f"{name} failed:\n{trouble.decode()[-2000:]}")
                took[name].append(json.loads(answer.splitlines()[-1]))
    return took


def main() -> None:
    """Print the CPU time of an event for each client, and its ratio to ours."""
    results = Results("watch_clients", f"A typed watch event of {len(frame(1))} bytes, {EVENTS:,} of them")
    for name, times in asyncio.run(_measure()).items():
        for micros in times:
            results.add(name, **{"CPU, µs an event": micros})
    results.show()


if __name__ == "__main__":
    asyncio.run(CLIENTS[sys.argv[1]]())
