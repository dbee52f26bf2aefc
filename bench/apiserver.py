"""The embedded API server beside kube-apiserver with etcd: start, creates, gets, lists, watch fan-out, memory.

Both servers run in processes of their own and speak HTTPS; the same client asks both. kube-apiserver is measured where
`tools.control_plane` has built it before; nothing is built here. The watchers of the fan-out are in a third process,
which only counts lines.
"""

import asyncio
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from bench._results import Results
from steersman.clock import RealClock
from steersman.protocol.http import Request
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport

CLIENTS = 32
OBJECTS = 10_000
REAL_CREATES = 2_000
GETS = 10_000
#: Number of updates for a number of watchers: enough to measure, but less than minutes for one watcher.
FAN_OUT = {1: 4_000, 10: 4_000, 100: 3_000}
GROUP = "/apis/bench.example.com/v1"
PATH = f"{GROUP}/namespaces/default/gadgets"
JSON = {"content-type": "application/json", "accept": "application/json"}
_TICKS = os.sysconf("SC_CLK_TCK")


def definition() -> dict[str, Any]:
    """Return a typical CRD: bounds, an enumeration, a keyed list, defaults and a CEL rule."""
    item = {
        "type": "object",
        "required": ["key"],
        "properties": {"key": {"type": "string", "maxLength": 63}, "value": {"type": "string"}},
    }
    spec = {
        "type": "object",
        "required": ["color"],
        "x-kubernetes-validations": [{"rule": "self.replicas <= self.max", "message": "too many"}],
        "properties": {
            "color": {"type": "string", "enum": ["red", "green", "blue"]},
            "replicas": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1},
            "max": {"type": "integer", "default": 10},
            "text": {"type": "string", "maxLength": 4000},
            "items": {
                "type": "array",
                "maxItems": 50,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
                "items": item,
            },
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.bench.example.com"},
        "spec": {
            "group": "bench.example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [version],
        },
    }


def gadget(name: str) -> bytes:
    """Return an object of about 1.2 KB."""
    body = {
        "apiVersion": "bench.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "one"}},
        "spec": {
            "color": "red",
            "replicas": 3,
            "text": "x" * 800,
            "items": [{"key": f"k{number}", "value": "v" * 20} for number in range(5)],
        },
    }
    return json.dumps(body).encode()


@dataclass(slots=True)
class Target:
    """A server under measurement."""

    name: str
    kubeconfig: Path
    pids: list[int]
    results: dict[str, float] = field(default_factory=dict)

    def cpu(self) -> float:
        """Return the CPU seconds that the server has used."""
        total = 0
        for pid in self.pids:
            after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(after_name[11]) + int(after_name[12])
        return total / _TICKS

    def memory(self) -> float:
        """Return the resident megabytes of the server."""
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.pids)
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _installed(folder: Path) -> dict[str, str]:
    """Return the environment of an installed program, whose modules are compiled."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


@contextmanager
def embedded(folder: Path) -> Iterator[Target]:
    """Run `steer server`."""
    kubeconfig = folder / "embedded"
    command = [sys.executable, "-m", "steersman.cli", "server", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(  # noqa: S603 - our own
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_installed(folder)
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield Target("steersman", kubeconfig, [process.pid])
        finally:
            process.terminate()


@contextmanager
def real() -> Iterator[Target | None]:
    """Run kube-apiserver and etcd, if they have been built."""
    from tools.control_plane.binaries import Binaries  # noqa: PLC0415 - the tools may be missing
    from tools.control_plane.processes import ControlPlane  # noqa: PLC0415 - same

    binaries = Binaries.if_built()
    if binaries is None:
        print("kube-apiserver and etcd are not built (python -m tools.control_plane build): measured without them")
        yield None
        return
    begun = time.perf_counter()
    with ControlPlane(binaries, controllers=False) as plane:
        target = Target("kube-apiserver", plane.kubeconfig, plane.pids)
        target.results["start"] = time.perf_counter() - begun
        yield target


async def _at_once(work: Callable[[int], Awaitable[None]], count: int) -> float:
    """Run a request so many times, 32 concurrently; return the seconds."""
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await work(number)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(CLIENTS):
            tasks.create_task(client())
    return time.perf_counter() - begun


@asynccontextmanager
async def _connected(target: Target) -> AsyncIterator[Callable[..., Awaitable[bytes]]]:
    transport = HttpTransport(ClusterConfig.from_kubeconfig(target.kubeconfig), clock=RealClock())

    async def ask(method: str, path: str, body: bytes = b"", media: str = "application/json") -> bytes:
        answer = await transport.request(Request(method, path, {**JSON, "content-type": media}, body))
        assert answer.status in (200, 201), (answer.status, answer.body[:300])
        return answer.body

    try:
        yield ask
    finally:
        await transport.close()


async def _measure(target: Target) -> None:
    results = target.results
    async with _connected(target) as ask:
        await ask("GET", "/readyz")
        results["idle MB"] = target.memory()
        await ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(definition()).encode())
        await _served(ask)

        async def create(number: int) -> None:
            await ask("POST", PATH, gadget(f"g-{number:05}"))

        count = OBJECTS if target.name == "steersman" else REAL_CREATES
        await _at_once(create, 200)  # opens connections, and fills caches
        for number in range(200):
            await ask("DELETE", f"{PATH}/g-{number:05}")
        cpu = target.cpu()
        results["creates/s"] = count / await _at_once(create, count)
        results["create CPU µs"] = (target.cpu() - cpu) / count * 1e6

        async def get(number: int) -> None:
            await ask("GET", f"{PATH}/g-{number % count:05}")

        cpu = target.cpu()
        results["gets/s"] = GETS / await _at_once(get, GETS)
        results["get CPU µs"] = (target.cpu() - cpu) / GETS * 1e6
        if target.name != "steersman":
            await _fill(ask, count)
        results["MB"] = target.memory()
        lists = []
        for _ in range(5):
            begun = time.perf_counter()
            body = await ask("GET", PATH)
            lists.append(time.perf_counter() - begun)
        assert body.count(b'"uid"') == OBJECTS
        results["list ms"] = statistics.median(lists) * 1e3
        for watchers, updates in FAN_OUT.items():
            await _fan_out(target, ask, watchers, updates if target.name == "steersman" else updates // 8)


async def _fill(ask: Callable[..., Awaitable[bytes]], count: int) -> None:
    async def create(number: int) -> None:
        await ask("POST", PATH, gadget(f"g-{count + number:05}"))

    await _at_once(create, OBJECTS - count)


async def _served(ask: Callable[..., Awaitable[bytes]]) -> None:
    """Wait until the new kind is served, which takes a moment on a real server."""
    for _ in range(200):
        try:
            await ask("GET", PATH)
        except AssertionError:
            await asyncio.sleep(0.05)
        else:
            return


async def _fan_out(target: Target, ask: Callable[..., Awaitable[bytes]], watchers: int, updates: int) -> None:
    """Write updates with many watchers; return after every watcher has received the last one."""
    body = json.loads(await ask("GET", f"{PATH}?limit=1"))
    version = body["metadata"]["resourceVersion"]
    arguments = [str(target.kubeconfig), version, str(watchers), str(updates)]
    reader = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.apiserver", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert reader.stdout is not None
    await reader.stdout.readline()  # all watches are open
    cpu = target.cpu()

    async def touch(number: int) -> None:
        patch = b'{"status":{"round":%d}}' % (updates * watchers + number)
        path = f"{PATH}/g-{number % 500:05}/status"
        await ask("PATCH", path, patch, "application/merge-patch+json")

    begun = time.perf_counter()
    await _at_once(touch, updates)
    await reader.stdout.readline()  # every watcher has received everything
    took = time.perf_counter() - begun
    target.results[f"deliveries/s, {watchers} watchers"] = watchers * updates / took
    target.results[f"CPU µs a delivery, {watchers} watchers"] = (target.cpu() - cpu) / watchers / updates * 1e6
    await reader.wait()


class _Counter(asyncio.Protocol):
    """A watcher that only counts lines: each event is one line."""

    def __init__(self, request: bytes, expected: int, opened: asyncio.Semaphore, done: asyncio.Semaphore) -> None:
        self._request = request
        self._left = expected
        self._opened = opened
        self._done = done
        self._is_open = False
        self._last = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(self._request)  # type: ignore[attr-defined]  # the loop's own transport

    def data_received(self, data: bytes) -> None:
        if not self._is_open:
            assert data.startswith(b"HTTP/1.1 200"), data[:200]
            self._is_open = True
            self._opened.release()
            data = data.partition(b"\r\n\r\n")[2]
        # Line breaks of the chunked encoding are CRLF, and may be split anywhere.
        seen = self._last + data
        self._left -= data.count(b"\n") - seen.count(b"\r\n")
        self._last = data[-1:]
        if self._left <= 0:
            self._left = sys.maxsize
            self._done.release()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._left != sys.maxsize:
            sys.exit(f"a watch ended early ({exc}), {self._left} events before its end: too slow for its server?")


async def _read(kubeconfig: str, version: str, watchers: int, updates: int) -> None:
    config = ClusterConfig.from_kubeconfig(kubeconfig)
    token = config.authentication.token.reveal()  # type: ignore[union-attr]  # both servers use one
    host, _, port = config.server.removeprefix("https://").rpartition(":")
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    request = (
        f"GET {PATH}?watch=true&resourceVersion={version} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
        "accept: application/json\r\n\r\n"
    )
    opened, done = asyncio.Semaphore(0), asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()
    for _ in range(watchers):
        await loop.create_connection(
            lambda: _Counter(request.encode(), updates, opened, done), host, int(port), ssl=trusting
        )
    for _ in range(watchers):
        await opened.acquire()
    print("open", flush=True)
    for _ in range(watchers):
        await done.acquire()
    print("done", flush=True)


_IN_PROCESS = """
import time
from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
begun = time.perf_counter()
ApiServer(clock=RealClock())
first = time.perf_counter()
ApiServer(clock=RealClock())
print(first - begun, time.perf_counter() - first)
"""


def _starts(folder: Path, results: dict[str, float]) -> None:
    first, later, whole = [], [], []
    with embedded(folder):  # compiles the modules
        pass
    for _ in range(5):
        shown = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", _IN_PROCESS], check=True, capture_output=True, text=True, env=_installed(folder)
        )
        begun, again = map(float, shown.stdout.split())
        first.append(begun)
        later.append(again)
        started = time.perf_counter()
        with embedded(folder):
            whole.append(time.perf_counter() - started)
    results["start in-process, first ms"] = statistics.median(first) * 1e3
    results["start in-process, next ms"] = statistics.median(later) * 1e3
    results["start"] = statistics.median(whole)


def _verdict(*, is_kept: bool) -> str:
    return "kept" if is_kept else "MISSED"


def _report(ours: dict[str, float], theirs: dict[str, float]) -> None:
    results = Results("apiserver", "The embedded API server beside kube-apiserver with etcd")
    results.add("steersman", **ours)
    if theirs:
        results.add("kube-apiserver", **theirs)
    results.show()
    print("\nbudgets")
    budgets = [
        ("start in-process ≤ 50 ms", ours["start in-process, first ms"] <= 50),
        ("start of `steer server` ≤ 300 ms", ours["start"] <= 0.3),
        ("memory idle ≤ 60 MB", ours["idle MB"] <= 60),
        # The clients share the cores with the server, so its CPU time shows what it could deliver.
        ("fan-out to 100 watchers ≥ 100,000 per CPU second", ours["CPU µs a delivery, 100 watchers"] <= 10),
    ]
    if theirs:
        ratio = ours["creates/s"] / theirs["creates/s"]
        budgets.append((f"creates ≥ 5 times kube-apiserver (is {ratio:.1f})", ratio >= 5))
    for name, is_kept in budgets:
        print(f"  {name:52}{_verdict(is_kept=is_kept)}")


def main() -> None:
    """Measure, print, and compare with the budgets."""
    if len(sys.argv) == 5 and sys.argv[1] != "apiserver":
        kubeconfig, version, watchers, updates = sys.argv[1:]
        uvloop.run(_read(kubeconfig, version, int(watchers), int(updates)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours: dict[str, float] = {}
        _starts(folder, ours)
        with embedded(folder) as target:
            uvloop.run(_measure(target))
        ours.update(target.results)
        theirs: dict[str, float] = {}
        with real() as beside:
            if beside is not None:
                uvloop.run(_measure(beside))
                theirs = beside.results
    _report(ours, theirs)


if __name__ == "__main__":
    main()
