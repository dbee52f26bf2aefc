"""A plan names what the operator does by itself, and rejects a client that would write to the cluster."""

import asyncio
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from steersman import Client, Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.errors import NotPlanned
from steersman.history.records import ObjectName
from steersman.planning import Plan, PlanOptions
from steersman.planning.changes import RunOf, current_run
from steersman.planning.side_effects import side_effects
from steersman.testing import Cluster
from steersman.transport.config import ClusterConfig


class ThingSpec(Model):
    """Nothing is wanted."""


@custom_resource("effects.example.com/v1")
class Thing(Resource[ThingSpec, Status]):
    """An object whose operator does things by itself."""


async def planned(cluster: Cluster, work: Callable[[], object], *, notes: bool = True) -> Plan:
    """Return the plan of an operator that does something by itself."""
    operator = Operator("driver")

    @operator.reconciler(Thing)
    def reconcile(_thing: Thing, _ctx: Context[Thing]) -> None:
        work()

    await cluster.install(Thing)
    await cluster.client.create(Thing(meta("a")))
    return await cluster.plan(operator, options=PlanOptions(notes_side_effects=notes))


@pytest.mark.parametrize("notes", [True, False])
async def test_connections_of_drivers_are_noted(cluster: Cluster, *, notes: bool) -> None:
    """What a driver writes by itself is really written: readers of the plan have to know of it."""
    with socket.create_server(("127.0.0.1", 0)) as database:
        address = database.getsockname()
        plan = await planned(cluster, lambda: socket.create_connection(address).close(), notes=notes)
    assert (f"the operator connected to 127.0.0.1:{address[1]} by itself" in str(plan)) is notes
    assert ("Nothing was written by the plan, see the notes." in str(plan)) is notes
    assert ("Nothing was written.\n" in f"{plan}\n") is not notes


def in_a_run(work: Callable[[], object]) -> list[str]:
    """Return what is noticed of what a run does."""
    token = current_run.set(RunOf(0, "driver", ObjectName("Thing", "default", "a")))
    try:
        with side_effects() as found:
            work()
    finally:
        current_run.reset(token)
    return list(found)


def test_everything_that_may_write_is_noticed(tmp_path: Path) -> None:
    """A Unix socket, a datagram, a program and a database write as a TCP connection does."""
    path = str(tmp_path / "socket")

    def by_unix_socket() -> None:
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(path)
            server.listen()
            client.connect(path)

    def by_datagram() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", ("127.0.0.1", 9))

    assert in_a_run(by_unix_socket) == [f"connected to {path}"]
    assert in_a_run(by_datagram) == ["sent datagrams to 127.0.0.1:9"]
    assert in_a_run(lambda: subprocess.run(["/bin/true", "--password=hunter2"], check=True)) == ["started /bin/true"]
    assert in_a_run(lambda: sqlite3.connect(tmp_path / "a.db").close()) == [f"opened the database {tmp_path / 'a.db'}"]
    assert in_a_run(lambda: sqlite3.connect(":memory:").close()) == []


def test_threads_of_the_operator_are_noticed(tmp_path: Path) -> None:
    """They do not inherit the run; the plan itself has no thread that opens anything."""
    with side_effects() as found:
        sqlite3.connect(tmp_path / "own.db").close()
        thread = threading.Thread(target=lambda: sqlite3.connect(tmp_path / "a.db").close())
        thread.start()
        thread.join()
    assert list(found) == [f"opened the database {tmp_path / 'a.db'}"]


async def test_a_client_that_the_operator_connects_itself_is_rejected(cluster: Cluster) -> None:
    """Its writes would be real; outside of the plan it connects as ever."""
    operator = Operator("loner")
    connected: list[Client] = []
    config = ClusterConfig(server="http://127.0.0.1:1")

    @operator.reconciler(Thing)
    async def reconcile(_thing: Thing, _ctx: Context[Thing]) -> None:
        async with Client.connect_to(config) as client:
            connected.append(client)

    await cluster.install(Thing)
    await cluster.client.create(Thing(meta("a")))
    plan = await cluster.plan(operator)
    assert connected == []
    assert "operator 'loner' connects a Client by itself" in plan.failures[0].message
    assert "use ctx.client" in plan.failures[0].message
    async with Client.connect_to(config) as client:
        assert client.namespace


async def test_a_client_in_a_thread_is_rejected_and_noted_even_if_the_operator_catches_the_error(
    cluster: Cluster,
) -> None:
    """A thread does not inherit the run; an error that is caught would leave no trace."""
    operator = Operator("loner")
    config = ClusterConfig(server="http://127.0.0.1:1")
    caught: list[str] = []

    async def connect() -> None:
        async with Client.connect_to(config):
            raise AssertionError("it connects")

    def in_thread() -> None:
        try:
            asyncio.run(connect())
        except NotPlanned as error:
            caught.append(str(error))

    @operator.reconciler(Thing)
    async def reconcile(_thing: Thing, _ctx: Context[Thing]) -> None:
        await asyncio.get_running_loop().run_in_executor(None, in_thread)

    await cluster.install(Thing)
    await cluster.client.create(Thing(meta("a")))
    plan = await cluster.plan(operator)
    assert "an operator connects a Client by itself" in caught[0]
    assert "an operator tried to connect a Client by itself, which a plan rejects" in plan.notes
