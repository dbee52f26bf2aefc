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
    """Writes only when the test allows it; the writing thread waits until then."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.batches: list[list[str]] = []
        self.version = 0
        self._loop = loop
        self._allowed = asyncio.Semaphore(0)
        self.error: Exception | None = None

    def allow(self) -> None:
        """Allow one batch."""
        self._allowed.release()

    def write(self, changes: Iterable[Row | Gone], version: int) -> None:
        """Write the batch once it is allowed."""
        asyncio.run_coroutine_threadsafe(self._allowed.acquire(), self._loop).result()
        if self.error is not None:
            raise self.error
        self.batches.append([change.name for change in changes])
        self.version = version

    def close(self) -> None:
        """Do nothing."""


def event(name: str, version: int) -> Event:
    """Return a write."""
    return Event("ADDED", "configmaps", Record({"metadata": {"name": name}}, version, {}), None, 0.0)


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await RealClock().sleep(0)


async def _eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await RealClock().sleep(0.001)


async def test_the_writes_of_a_turn_are_one_batch_and_later_ones_the_next() -> None:
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


async def test_listeners_are_notified_in_order_after_earlier_writes_are_committed() -> None:
    """A read that overtakes the write it shows would report a state that may never be stored."""
    database = SlowDatabase(asyncio.get_running_loop())
    journal = Journal(database)  # type: ignore[arg-type]  # it has the shape of one
    told: list[str] = []

    def notify(text: str) -> None:
        journal.when_durable(lambda: told.append(text), lambda: told.append("lost"))

    notify("nothing was written")
    assert told == ["nothing was written"]
    journal.observe(event("a", 2))
    notify("after a")
    await _turns()
    notify("while a is written")
    journal.observe(event("b", 3))
    notify("after b")
    assert told == ["nothing was written"]
    database.allow()
    await _eventually(lambda: len(told) == 3)
    assert told[1:] == ["after a", "while a is written"]
    database.allow()
    await _eventually(lambda: len(told) == 4)
    assert told[3] == "after b"
    journal.close()


async def test_listeners_are_not_notified_of_writes_that_failed() -> None:
    """After a failed write the server can promise nothing, neither to waiting nor to later callers."""
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
    """No client may see a state that another client cannot rely on yet."""
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


async def test_a_failing_disk_breaks_connections_and_rejects_later_requests(tmp_path: Path) -> None:
    """A client without an answer retries; one that was told of a success would not."""
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


async def test_a_server_stops_when_its_disk_fails(tmp_path: Path) -> None:
    """A server that cannot store what it accepts must not continue as if it could."""
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


async def test_a_server_keeps_its_token_and_ca_across_restarts(tmp_path: Path) -> None:
    """A kubeconfig that was copied elsewhere must keep working."""
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
        # The port is another one: both objects that publish it are written again.
        assert server.api.objects.version == version + 2
        assert server.api.tokens.keys() == keys
    async with local_server(LocalOptions(data=tmp_path / "data", token="mine")) as server:
        assert server.access.token == "mine"


async def test_a_write_caused_by_another_write_is_kept_in_order(tmp_path: Path) -> None:
    """Rules of aggregated roles are written inside the write that causes them; the later one must win."""
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
