import asyncio
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import SteersmanError
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from tests.apiserver.journal.running import RunningServer

#: How often the server is killed; a hundred times takes some minutes.
KILLS = int(os.environ.get("STEERSMAN_KILLS", "4"))
#: Number of clients that write at the same time.
WRITERS = 8
PATH = "/api/v1/namespaces/default/configmaps"
Document = dict[str, Any]


@dataclass
class Known:
    """What is known about one object: the acknowledged state, and the one that an unanswered request may have left."""

    #: The value; ``None`` while the object does not exist.
    value: str | None = None
    version: int = 0
    #: The state that a request without an answer may have left.
    possible: list[str | None] = field(default_factory=list)


@dataclass
class Checker:
    """Remembers everything that clients were told, across all restarts of the server."""

    known: dict[str, Known] = field(default_factory=dict)
    #: The highest version that any client saw.
    highest: int = 0
    #: What a watch has shown: the last version of each object, and whether it was deleted then.
    watched: dict[str, tuple[int, bool]] = field(default_factory=dict)
    acknowledged: int = 0

    def see(self, version: int) -> None:
        """Record a version."""
        self.highest = max(self.highest, version)

    def check(self, listed: Document) -> None:
        """Compare with the state after a restart, which becomes the known state."""
        assert int(listed["metadata"]["resourceVersion"]) >= self.highest, "the version went back"
        there = {item["metadata"]["name"]: item for item in listed["items"]}
        for name, known in self.known.items():
            item = there.get(name)
            value = None if item is None else item["data"]["value"]
            assert value in [known.value, *known.possible], f"{name}: an acknowledged write is gone"
            if not known.possible:
                version = 0 if item is None else int(item["metadata"]["resourceVersion"])
                assert version == known.version, f"{name}: its version is another"
            self.known[name] = Known(value, 0 if item is None else int(item["metadata"]["resourceVersion"]))
        for name, (version, is_end) in self.watched.items():
            item = there.get(name)
            if not is_end:
                is_newer = item is not None and int(item["metadata"]["resourceVersion"]) >= version
                assert is_newer or self._may_be_gone(name), f"{name}: a client saw a state that is gone"
        self.watched.clear()

    def _may_be_gone(self, name: str) -> bool:
        return self.known[name].value is None


class Writer:
    """Creates, changes and deletes one object of its own repeatedly, as long as requests are answered."""

    def __init__(self, name: str, transport: HttpTransport, checker: Checker, randomness: Randomness) -> None:
        self._name = name
        self._transport = transport
        self._checker = checker
        self._randomness = randomness
        self._known = checker.known.setdefault(name, Known())

    async def run(self) -> None:
        """Write until requests are no longer answered."""
        while True:
            value = self._randomness.suffix(200)
            if self._known.value is None:
                body = {"metadata": {"name": self._name}, "data": {"value": value}}
                answered = await self._ask(Request("POST", PATH, _JSON, json.dumps(body).encode()), value)
            elif self._randomness.between(0, 4) < 1:
                answered = await self._ask(Request("DELETE", f"{PATH}/{self._name}", {}, b""), None)
            else:
                body = {"data": {"value": value}}
                request = Request("PATCH", f"{PATH}/{self._name}", _MERGE, json.dumps(body).encode())
                answered = await self._ask(request, value)
            if not answered:
                return

    async def _ask(self, request: Request, value: str | None) -> bool:
        known, checker = self._known, self._checker
        known.possible = [value]
        try:
            response = await self._transport.request(request, timeout=10)
        except SteersmanError:
            return False
        assert response.status in (200, 201), response.body
        known.possible = []
        known.value = value
        known.version = 0 if value is None else int(json.loads(response.body)["metadata"]["resourceVersion"])
        checker.see(known.version)
        checker.acknowledged += 1
        return True


_JSON = {"content-type": "application/json"}
_MERGE = {"content-type": "application/merge-patch+json"}


async def watch(transport: HttpTransport, version: str, checker: Checker) -> None:
    """Record everything that a watch shows, until it breaks."""
    text = b""
    try:
        target = f"{PATH}?watch=true&resourceVersion={version}"
        async with transport.stream(Request("GET", target, {}, b""), idle=None) as stream:
            async for chunk in stream:
                *lines, text = (text + chunk).split(b"\n")
                for event in map(json.loads, lines):
                    metadata = event["object"]["metadata"]
                    seen = int(metadata["resourceVersion"])
                    checker.see(seen)
                    checker.watched[metadata["name"]] = (seen, event["type"] == "DELETED")
    except SteersmanError:
        return


async def one_life(server: RunningServer, checker: Checker, randomness: Randomness, *, writes: int) -> None:
    """Check the stored state, write with several clients at once, and kill the server meanwhile."""
    server.wait_ready()
    transport = HttpTransport(ClusterConfig.from_kubeconfig(server.kubeconfig), clock=RealClock())
    try:
        response = await transport.request(Request("GET", PATH, {}, b""))
        listed = json.loads(response.body)
        checker.check(listed)
        goal = checker.acknowledged + writes
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch(transport, listed["metadata"]["resourceVersion"], checker))
            for index in range(WRITERS):
                tasks.create_task(Writer(f"w{index}", transport, checker, randomness).run())
            async with background(_until(checker, goal), name="enough") as enough:
                await enough
            server.kill()
    finally:
        await transport.close()


async def _until(checker: Checker, goal: int) -> None:
    while checker.acknowledged < goal:
        await RealClock().sleep(0.001)


@pytest.mark.parametrize("seed", [1])
async def test_no_kill_loses_an_acknowledged_write_or_decreases_a_version(tmp_path: Path, seed: int) -> None:
    """Whatever a client was told, by an answer or a watch, holds after any number of kill -9."""
    randomness, checker = Randomness(seed), Checker()
    for life in range(KILLS):
        server = RunningServer(tmp_path)
        if life % 5 == 4:
            # Killed during its start, at a moment that only elapsed time determines.
            await RealClock().sleep(randomness.between(0.0, 0.6))
            server.kill()
            continue
        await one_life(server, checker, randomness, writes=int(randomness.between(1, 150)))
    server = RunningServer(tmp_path)
    server.wait_ready()
    transport = HttpTransport(ClusterConfig.from_kubeconfig(server.kubeconfig), clock=RealClock())
    checker.check(json.loads((await transport.request(Request("GET", PATH, {}, b""))).body))
    assert checker.acknowledged > KILLS
    await transport.close()
    server.stop()


async def _first(transport: HttpTransport, target: str) -> tuple[int, Document]:
    async with transport.stream(Request("GET", target, {}, b""), idle=None) as stream:
        async for chunk in stream:
            return stream.status, json.loads(chunk.split(b"\n")[0])
    raise AssertionError("nothing came")


async def test_a_watch_from_before_a_restart_must_list_again(tmp_path: Path) -> None:
    """Earlier events are no longer known; silence would hide a delete forever."""
    answers: list[Response] = []
    server = RunningServer(tmp_path)
    server.wait_ready()
    config = ClusterConfig.from_kubeconfig(server.kubeconfig)
    transport = HttpTransport(config, clock=RealClock())
    body = {"metadata": {"name": "a"}, "data": {"value": "1"}}
    answers.append(await transport.request(Request("POST", PATH, _JSON, json.dumps(body).encode())))
    answers.append(await transport.request(Request("DELETE", f"{PATH}/a", {}, b"")))
    await transport.close()
    server.kill()
    server = RunningServer(tmp_path)
    server.wait_ready()
    transport = HttpTransport(ClusterConfig.from_kubeconfig(server.kubeconfig), clock=RealClock())
    version = json.loads(answers[0].body)["metadata"]["resourceVersion"]
    status, event = await _first(transport, f"{PATH}?watch=true&resourceVersion={version}")
    code = event.get("code") or event["object"]["code"]
    assert (status, code) in ((200, 410), (410, 410))
    # The same for a resource that has no objects left.
    status, event = await _first(transport, "/api/v1/pods?watch=true&resourceVersion=1")
    assert (event.get("code") or event["object"]["code"]) == 410
    await transport.close()
    server.stop()
