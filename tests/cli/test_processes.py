"""`steer run --processes`: several processes under one command, one health port and one metrics page."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import click
from click.testing import CliRunner
from msgspec.json import decode

from steersman.cli.processes import (
    Processes,
    ProcessesApp,
    ProcessesHistoryApp,
    history_socket,
    merged_history,
    passed_on,
)
from steersman.cli.run import command
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.history.records import ObjectName, ObjectView, Reconcile
from steersman.history.state import Overview
from steersman.manager.history_app import HistoryApp
from steersman.manager.metrics.merging import merged_metrics
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Listen, Server
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.support.example_operator import operator
from tests.support.introspection import STARTED, SampleIntrospection

#: Writes a line into the file of its first argument, then waits for its end; ``-S`` starts it in milliseconds.
_WAIT = "import sys, time; open(sys.argv[1], 'a').write('started\\n'); time.sleep(60)"
_END = "import sys; open(sys.argv[1], 'a').write('started\\n'); sys.exit(int(sys.argv[2]))"


def program(code: str, *arguments: object) -> list[str]:
    """Return the command of a small program."""
    return [sys.executable, "-S", "-E", "-c", code, *map(str, arguments)]


def lines(file: Path) -> int:
    """Return how often a program was started."""
    return len(file.read_text().splitlines()) if file.exists() else 0


async def starts(file: Path, count: int) -> None:
    """Wait until a program was started that often."""
    clock = RealClock()
    async with clock.timeout(20):
        while lines(file) < count:
            await clock.sleep(0.01)


async def test_a_stop_reaches_every_process(tmp_path: Path) -> None:
    """The parent is the only one that gets the signal: the processes have sessions of their own."""
    files = [tmp_path / "a", tmp_path / "b"]
    processes = Processes([program(_WAIT, file) for file in files], tmp_path, grace=5.0, clock=FakeClock())
    stop = asyncio.Event()
    async with background(_set_when_started(files, stop), name="stop"):
        assert await processes.run(stop) == 1, "these programs do not handle the signal"
    assert [file.read_text() for file in files] == ["started\n"] * 2


async def _set_when_started(files: list[Path], stop: asyncio.Event) -> None:
    for file in files:
        await starts(file, 1)
    stop.set()


async def test_a_process_that_ends_is_started_again_after_a_pause(tmp_path: Path) -> None:
    """A crash must not leave its shards to fewer processes forever, nor be repeated without a pause."""
    clock, file, stop = FakeClock(), tmp_path / "a", asyncio.Event()
    processes = Processes([program(_END, file, 1)], tmp_path, grace=5.0, clock=clock)
    run = processes.run(stop)
    async with background(_started_twice(clock, file, stop), name="twice"):
        assert await run == 1


async def _started_twice(clock: FakeClock, file: Path, stop: asyncio.Event) -> None:
    real = RealClock()
    await starts(file, 1)
    while clock.next_timer() is None:
        await real.sleep(0.01)
    assert lines(file) == 1
    await clock.advance(1.0)
    await starts(file, 2)
    stop.set()


async def test_a_process_that_cannot_use_its_options_ends_all(tmp_path: Path) -> None:
    """It would fail in the same way each time."""
    commands = [program(_END, tmp_path / "a", 2), program(_WAIT, tmp_path / "b")]
    processes = Processes(commands, tmp_path, grace=5.0, clock=FakeClock())
    assert await processes.run(asyncio.Event()) == 2


async def test_probes_and_metrics_are_those_of_all_processes(tmp_path: Path) -> None:
    """A pod has one port, and is ready when all of its processes are."""
    clock = RealClock()
    processes = Processes([["unused"], ["unused"]], tmp_path, grace=5.0, clock=clock)
    transport = InMemoryTransport(ProcessesApp(processes), clock=clock)
    ready = await transport.request(Request("GET", "/readyz"))
    assert ready.status == 500
    assert b"process 1 does not answer" in ready.body
    assert (await transport.request(Request("GET", "/healthz"))).status == 200, "a process that starts is alive"

    class App:
        """One healthy process."""

        def handle(self, request: Request, exchange: Exchange) -> None:
            """Answer."""
            body = b"# TYPE runs counter\nruns_total 3.0\n" if request.target == "/metrics" else b"ok"
            exchange.respond(Response(200, [], body))

    async with (
        Server(App(), clock=clock, listen=Listen(path=tmp_path / "0.sock")),
        Server(App(), clock=clock, listen=Listen(path=tmp_path / "1.sock")),
    ):
        assert (await transport.request(Request("GET", "/readyz"))).body == b"ok"
        page = (await transport.request(Request("GET", "/metrics"))).body
        assert b'runs_total{process="0"} 3.0\nruns_total{process="1"} 3.0\n' in page


async def test_steer_why_asks_all_processes_by_one_port(tmp_path: Path) -> None:
    """A port-forward reaches one port of the pod, and each process knows only its own reconciles."""
    clock = RealClock()
    processes = Processes([["unused"], ["unused"], ["unused"]], tmp_path, grace=5.0, clock=clock)
    transport = InMemoryTransport(ProcessesHistoryApp(processes), clock=clock)
    assert (await transport.request(Request("GET", "/overview"))).status == 503
    name = ObjectName("Site", "default", "a", "example.com")
    sources = [SampleIntrospection(), SampleIntrospection()]
    for number, source in enumerate(sources):
        run = Reconcile(controller="site", object=name, uid="u", number=number, started=STARTED, seconds=0.1)
        source.add(run)
    site = ApiResource(gvk=GroupVersionKind("example.com", "v1", "Site"), plural="sites")
    async with AsyncExitStack() as stack:
        for number, source in enumerate(sources):
            listen = Listen(path=history_socket(tmp_path / f"{number}.sock"))
            await stack.enter_async_context(Server(HistoryApp(source, [site]), clock=clock, listen=listen))
        overview = decode((await transport.request(Request("GET", "/overview"))).body, type=Overview)
        assert (overview.replicas, overview.controllers[0].runs) == (2, 14)
        target = "/object?resource=site&namespace=default&name=a"
        assert decode((await transport.request(Request("GET", target))).body, type=ObjectView).exists
        assert len(decode((await transport.request(Request("GET", "/objects"))).body)) == 1
        unknown = await transport.request(Request("GET", "/object?resource=pod&name=a"))
        assert (unknown.status, b"it reconciles Site" in unknown.body) == (404, True)
        assert (await transport.request(Request("POST", "/objects"))).status == 405


def test_clusters_of_several_processes_are_named_once() -> None:
    """Each process works in all clusters; asking twice would count every replica twice."""
    assert merged_history("/clusters", [b'["eu","us"]', b'["us","eu"]']) == b'["eu","us"]'


def test_each_sample_has_the_process_that_it_comes_from() -> None:
    """Two samples with the same labels would be refused by Prometheus."""
    page = b'# HELP depth Keys.\n# TYPE depth gauge\ndepth{name="a"} 1.0\n'
    merged = merged_metrics({"0": page, "1": page}, label="process").decode()
    assert merged == (
        '# HELP depth Keys.\n# TYPE depth gauge\ndepth{name="a",process="0"} 1.0\ndepth{name="a",process="1"} 1.0\n'
    )


def test_options_are_passed_on_as_they_were_given() -> None:
    """A process that got the defaults as if they were given would reject some of them."""
    given = ["app:operator", "--namespace=a", "--namespace=b", "--dev", "--grace=3", "--processes=2"]
    context = click.Context(command)
    command.parse_args(context, list(given))
    assert sorted(passed_on(context, ["processes"])) == sorted([*given[:4], "--grace=3.0"])


def test_what_needs_a_single_process_is_rejected() -> None:
    """Each process would have a cluster, or a web view, of its own."""
    assert operator.name
    result = CliRunner().invoke(command, ["tests.support.example_operator:operator", "--embedded", "--processes=2"])
    assert result.exit_code == 2
    assert "remove --processes" in result.output
    result = CliRunner().invoke(command, ["tests.support.example_operator:operator", "--processes=4", "--shards=2"])
    assert result.exit_code == 2
    assert "4 processes cannot all work on 2 shards" in result.output
