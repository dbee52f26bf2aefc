import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.journal.database import Gone, Row
from steersman.apiserver.journal.durable_app import DurableApp
from steersman.apiserver.journal.journal import Journal
from steersman.apiserver.journal.kept_cluster import kept_cluster
from steersman.apiserver.local import LocalOptions, local_server
from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.clock import RealClock
from steersman.errors import ConfigError, ConnectionLost
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.codec import encode
from steersman.objects.meta import meta
from steersman.protocol.http import Request
from steersman.transport.in_memory import InMemoryTransport

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
JSON = {"content-type": "application/json"}


class SlowDatabase:
    """Writes when it is told to: the thread that writes waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.batches: list[list[str]] = []
        self.version = 0
        self._loop = loop
        self._allowed = asyncio.Semaphore(0)
        self.error: Exception | None = None

    def allow(self) -> None:
        """Let one batch through."""
        self._allowed.release()

    def write(self, changes: Iterable[Row | Gone], version: int) -> None:
        """Write when it is allowed."""
        asyncio.run_coroutine_threadsafe(self._allowed.acquire(), self._loop).result()
        if self.error is not None:
            raise self.error
        self.batches.append([change.name for change in changes])
        self.version = version

    def close(self) -> None:
        """Do nothing."""


def event(name: str, version: int) -> Event:
    """Give a write."""
    return Event("ADDED", "configmaps", Record({"metadata": {"name": name}}, version, {}), None, 0.0)


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await RealClock().sleep(0)


async def _eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await RealClock().sleep(0.001)


async def test_the_writes_of_a_turn_are_one_batch_and_those_meanwhile_the_next() -> None:
    """A disk is slow: the busier the server, the larger its batches must be."""
    database = SlowDatabase(asyncio.get_running_loop())
    journal = Journal(database)  # type: ignore[arg-type]  # it has the shape of one
    for version, name in enumerate("ab", 2):
        journal.observe(event(name, version))
    await _turns()
    for version, name in enumerate("cdc", 4):
        journal.observe(event(name, version))
    database.allow()
    database.allow()
    await _eventually(lambda: len(database.batches) == 2)
    assert database.batches == [["a", "b"], ["c", "d"]]
    assert database.version == 6
    journal.close()


async def test_everyone_is_told_after_what_was_committed_before_and_in_order() -> None:
    """A read that overtakes the write that it shows would tell of what may never have been."""
    database = SlowDatabase(asyncio.get_running_loop())
    journal = Journal(database)  # type: ignore[arg-type]  # it has the shape of one
    told: list[str] = []

    def tell(text: str) -> None:
        journal.when_durable(lambda: told.append(text), lambda: told.append("lost"))

    tell("nothing was written")
    assert told == ["nothing was written"]
    journal.observe(event("a", 2))
    tell("after a")
    await _turns()
    tell("while a is written")
    journal.observe(event("b", 3))
    tell("after b")
    assert told == ["nothing was written"]
    database.allow()
    await _eventually(lambda: len(told) == 3)
    assert told[1:] == ["after a", "while a is written"]
    database.allow()
    await _eventually(lambda: len(told) == 4)
    assert told[3] == "after b"
    journal.close()


async def test_nobody_is_told_of_what_the_disk_refused() -> None:
    """After a failed write nothing can be promised any more, to those who wait or who come later."""
    database = SlowDatabase(asyncio.get_running_loop())
    journal = Journal(database)  # type: ignore[arg-type]  # it has the shape of one
    told: list[str] = []
    journal.observe(event("a", 2))
    journal.when_durable(lambda: told.append("told"), lambda: told.append("lost"))
    await _turns()
    journal.observe(event("b", 3))
    journal.when_durable(lambda: told.append("told"), lambda: told.append("lost"))
    database.error = sqlite3.OperationalError("database or disk is full")
    database.allow()
    await _eventually(lambda: len(told) == 2)
    journal.when_durable(lambda: told.append("told"), lambda: told.append("lost"))
    assert told == ["lost"] * 3
    with pytest.raises(ConfigError, match="database or disk is full"):
        await journal.wait_failed()
    journal.close()


def _create(name: str) -> Request:
    body = encode(ConfigMap(meta(name)))
    return Request("POST", "/api/v1/namespaces/default/configmaps", {"content-type": "application/json"}, body)


async def test_answers_reads_and_watches_wait_for_the_disk(tmp_path: Path) -> None:
    """What one client cannot rely on yet, no other may see."""
    clock = RealClock()
    with kept_cluster(tmp_path, clock) as kept:
        api = ApiServer(clock=clock, objects=kept.objects)
        transport = InMemoryTransport(DurableApp(api, kept.journal), clock=clock)
        await _eventually(lambda: kept.journal.is_idle)
        database = SlowDatabase(asyncio.get_running_loop())
        real, kept.journal._database = kept.journal._database, database  # type: ignore[assignment]  # of its shape
        path = "/api/v1/namespaces/default/configmaps"
        async with (
            transport.stream(Request("GET", f"{path}?watch=true", {}, b""), idle=None) as stream,
            asyncio.TaskGroup() as tasks,
        ):
            created = tasks.create_task(transport.request(_create("a")))
            await _turns(20)
            listed = tasks.create_task(transport.request(Request("GET", path, {}, b"")))
            watched = tasks.create_task(anext(aiter(stream)))
            await _turns(20)
            assert not created.done()
            assert not listed.done()
            assert not watched.done()
            database.allow()
        assert created.result().status == 201
        assert b'"name":"a"' in listed.result().body
        assert b'"name":"a"' in watched.result()
        await transport.close()
        kept.journal._database = real


async def test_a_failing_disk_breaks_answers_off_and_refuses_what_comes_later(tmp_path: Path) -> None:
    """A client without an answer asks again; one that was told of a success would not."""
    clock = RealClock()
    with kept_cluster(tmp_path, clock) as kept:
        api = ApiServer(clock=clock, objects=kept.objects)
        transport = InMemoryTransport(DurableApp(api, kept.journal), clock=clock)
        await _eventually(lambda: kept.journal.is_idle)
        database = SlowDatabase(asyncio.get_running_loop())
        database.error = sqlite3.OperationalError("disk I/O error")
        real, kept.journal._database = kept.journal._database, database  # type: ignore[assignment]  # of its shape
        database.allow()
        with pytest.raises(ConnectionLost):
            await transport.request(_create("a"))
        answer = await transport.request(_create("b"))
        assert answer.status == 500
        assert b"the data cannot be written: disk I/O error" in answer.body
        await transport.close()
        kept.journal._database = real


async def test_a_server_ends_when_its_disk_fails(tmp_path: Path) -> None:
    """A server that cannot keep what it is told must not go on as if it could."""
    with pytest.raises(ConfigError, match="cannot be written"):
        await _serve_until_the_disk_fails(tmp_path / "data")


async def _serve_until_the_disk_fails(data: Path) -> None:
    async with local_server(LocalOptions(data=data)) as server:
        owners = [getattr(observer, "__self__", None) for observer in server.api.objects.observers]
        (journal,) = [owner for owner in owners if isinstance(owner, Journal)]
        await _eventually(lambda: journal.is_idle)
        journal._database._connection.execute("DROP TABLE state")
        namespaces = server.api.catalog.find("", "v1", "namespaces")
        assert namespaces is not None
        server.api.objects.put(namespaces, {"metadata": {"name": "n", "uid": "u"}})
        await asyncio.Event().wait()


async def test_a_server_is_known_by_the_same_token_and_authority_after_a_restart(tmp_path: Path) -> None:
    """A kubeconfig that was copied elsewhere must go on working."""
    options = LocalOptions(data=tmp_path / "data")
    async with local_server(options) as server:
        first = server.access
        version = server.api.objects.version
        uid = server.api.objects.store.get("namespaces", "", "default")
        keys = server.api.tokens.keys()
    async with local_server(options) as server:
        assert (server.access.token, server.access.authority) == (first.token, first.authority)
        again = server.api.objects.store.get("namespaces", "", "default")
        assert uid is not None
        assert again is not None
        assert again.uid == uid.uid
        assert server.api.objects.version == version
        assert server.api.tokens.keys() == keys
    async with local_server(LocalOptions(data=tmp_path / "data", token="mine")) as server:
        assert server.access.token == "mine"


async def test_a_write_that_follows_at_once_from_another_is_kept_in_its_place(tmp_path: Path) -> None:
    """Rules of aggregated roles are written inside of the write that causes them: the later one must win."""
    clock = RealClock()
    with kept_cluster(tmp_path, clock) as kept:
        api = ApiServer(clock=clock, objects=kept.objects, controllers=ControllerOptions())
        transport = InMemoryTransport(api, clock=clock)
        selector = {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}
        part = {"metadata": {"name": "part", "labels": {"part": "yes"}}, "rules": [RULE]}
        whole = {"metadata": {"name": "whole"}, "aggregationRule": selector, "rules": []}
        for document in (part, whole):
            answer = await transport.request(Request("POST", ROLES, JSON, json.dumps(document).encode()))
            assert answer.status == 201, answer.body
        await transport.close()
    with kept_cluster(tmp_path, clock) as kept:
        record = kept.objects.store.get("clusterroles.rbac.authorization.k8s.io", "", "whole")
        assert record is not None
        assert record.decode()["rules"] == [RULE]
