"""`steer why`: it finds a running operator and explains in plain words what it knows about an object."""

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from steersman.cli import main
from steersman.clock import RealClock
from steersman.history.recordings import Recording, Recordings
from steersman.history.records import (
    CauseRecord,
    CauseType,
    KeyPhase,
    KeyState,
    ObjectName,
    ObjectView,
    Reconcile,
    ReplicaRecord,
    WebhookCall,
)
from steersman.history.records import Result as RunResult
from steersman.history.state import LeadershipState, ObjectSummary, Overview
from steersman.manager.history_app import HistoryApp
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.protocol.http import Request
from steersman.serving.private_socket import socket_path
from steersman.serving.server import Listen, Server
from tests.support.fake_exchange import FakeExchange
from tests.support.introspection import STARTED, SampleIntrospection

SITE = ApiResource(
    gvk=GroupVersionKind("example.com", "v1", "Site"), plural="sites", singular="site", short_names=("si",)
)
CLUSTER_WIDE = ApiResource(gvk=GroupVersionKind("example.com", "v1", "Zone"), plural="zones", namespaced=False)


@pytest.fixture(autouse=True)
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the search to operators of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


class ShardedIntrospection(SampleIntrospection):
    """A replica of an operator with eight shards; every object is in the fifth one."""

    def __init__(self, identity: str, *, is_working: bool) -> None:
        super().__init__()
        self._identity = identity
        self._is_working = is_working

    def overview(self) -> Overview:
        """Return the state of the whole."""
        state = LeadershipState(
            is_leader=True,
            lease="default/site",
            identity=self._identity,
            shards=(5,) if self._is_working else (),
            shard_count=8,
        )
        return replace(super().overview(), leadership=state)

    def summaries(self) -> list[ObjectSummary]:
        """Return every object."""
        return [replace(one, is_foreign=not self._is_working) for one in super().summaries()]

    def view(self, name: ObjectName) -> ObjectView:
        """Return one object."""
        replica = ReplicaRecord(
            lease="default/site", identity=self._identity, is_working=self._is_working, shard=5, shards=8
        )
        return replace(super().view(name), replica=replica)


def run(name: str, number: int = 1, **fields: object) -> Reconcile:
    """Return a reconcile of a Site."""
    known = {
        "controller": "site",
        "object": ObjectName("Site", "default", name, "example.com"),
        "uid": "u",
        "number": number,
        "started": STARTED + timedelta(seconds=number),
        "seconds": 0.002,
        "causes": (CauseRecord(CauseType.TIMER),),
    }
    return Reconcile(**{**known, **fields})  # type: ignore[arg-type]


@asynccontextmanager
async def serving(source: SampleIntrospection) -> AsyncIterator[None]:
    """Serve the operator's answers on its private socket."""
    app = HistoryApp(source, [SITE, CLUSTER_WIDE])
    async with Server(app, clock=RealClock(), listen=Listen(path=socket_path())):
        yield


async def steer(*arguments: str) -> Result:
    """Run `steer why` in a thread, because it has its own event loop."""
    return await asyncio.to_thread(CliRunner().invoke, main, ["why", *arguments])


@pytest.mark.parametrize("kind", ["site", "Site", "sites", "si", "sites.example.com"])
async def test_an_object_is_explained_by_any_name_of_its_kind(kind: str) -> None:
    """Users write the kind as they do for kubectl."""
    source = SampleIntrospection()
    source.add(run("a"))
    async with serving(source):
        found = await steer(f"{kind}/a")
    lines = found.stdout.splitlines()
    assert found.exit_code == 0, found.output
    assert lines[:2] == [
        "Site default/a is ready: all is well.",
        "Next run: when it or an object that it owns changes.",
    ]
    assert lines[3].endswith("reconcile 1, 2.0 ms, because its timer ended")


async def test_json_contains_the_answer_of_the_operator() -> None:
    """A script reads it."""
    source = SampleIntrospection()
    source.add(run("a", 3))
    async with serving(source):
        found = json.loads((await steer("site/a", "--json")).stdout)
    assert found["object"] == ["Site", "default", "a", "example.com"]
    assert [one["number"] for one in found["reconciles"]] == [3]


async def test_without_an_object_it_lists_the_objects_with_problems() -> None:
    """During an incident the first question is not about one object."""
    source = SampleIntrospection()
    source.add(run("well"))
    source.add(
        run("bad", 2, result=RunResult.FAILED, message="KeyError: 'x'", failures_before=4),
        KeyState(KeyPhase.BACKING_OFF),
    )
    async with serving(source):
        lines = (await steer()).stdout.splitlines()
    assert lines[0].startswith("site: leads (default/site), has run for ")
    assert lines[1] == "cluster https://localhost:6443, all namespaces, steersman 0.2.0"
    assert lines[3:] == [
        "Site: 1 running; 7 runs, 2 failed, 4 workers",
        "",
        "cache of Site: 2 objects, 2.0 KiB, 500 ms old",
        "cache of Pod: not synced: waiting for the first list",
        "",
        "1 of 2 objects fail or wait, oldest first:",
        "  Site default/bad: backing off, failed 5 times in a row",
        "    KeyError: 'x'",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["site"], "'site' is not KIND/NAME, such as custompod/a"),
        (["site/a/b"], "'site/a/b' is not KIND/NAME"),
        (["pod/a"], "no running operator reconciles 'pod' (process "),
        (["pod/a"], " reconciles Site, Zone): start the one that does"),
        (["--follow"], "--follow needs KIND/NAME"),
        (["site/a", "--context", "nowhere", "--kubeconfig", "none"], "none"),
    ],
)
async def test_an_invalid_request_is_one_sentence(arguments: list[str], said: str) -> None:
    """A traceback does not help a user who mistyped a kind."""
    async with serving(SampleIntrospection()):
        found = await steer(*arguments)
    assert found.exit_code in (1, 2)
    assert said in found.stderr
    assert "Traceback" not in found.output


async def test_an_unknown_object_is_reported() -> None:
    """It may be a typing error, or an object that the operator does not watch."""
    async with serving(SampleIntrospection()):
        found = await steer("site/a", "-n", "shop")
    assert found.stdout == "Site shop/a does not exist, or the operator does not watch it.\n"
    assert found.exit_code == 1


async def test_a_cluster_scoped_kind_ignores_the_namespace() -> None:
    """``-n`` has a default, which does not apply there."""
    async with serving(SampleIntrospection()):
        found = await steer("zone/a")
    assert found.stdout.splitlines()[0] == "Zone a does not exist, or the operator does not watch it."


async def test_if_no_operator_runs_it_says_how_to_start_one() -> None:
    """Most often the operator runs elsewhere."""
    found = await steer("site/a")
    assert found.exit_code == 1
    assert "none of your operators runs on this machine: start one with `steer dev` or `steer run`" in found.stderr


async def test_another_program_on_the_socket_is_not_an_operator() -> None:
    """A socket is found by its name alone."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"hello\n")
        writer.close()

    server = await asyncio.start_unix_server(answer, socket_path())
    async with server:
        found = await steer("site/a")
    assert found.exit_code == 1
    assert "does not answer" in found.stderr


ESCAPES = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe\rSite default/a is ready"


async def test_control_characters_of_a_text_do_not_reach_the_terminal() -> None:
    """Anyone who can write a status could otherwise clear the screen, forge a line, or make a terminal type."""
    source = SampleIntrospection()
    source.add(
        run("a", result=RunResult.FAILED, message=f"{ESCAPES}\nforged line", failures_before=1),
        KeyState(KeyPhase.BACKING_OFF, detail=ESCAPES),
    )
    async with serving(source):
        printed = [await steer("site/a"), await steer(), await steer("site/a", "--json")]
    for found in printed:
        text = found.stdout.replace("\n", "")
        assert not [char for char in text if char not in " →" and not char.isprintable()], ascii(text)
        assert "forged line" not in found.stdout.splitlines()
    assert json.loads(printed[2].stdout)["reconciles"][0]["message"] == f"{ESCAPES}\nforged line"


async def test_the_uptime_of_an_operator_is_written_in_english() -> None:
    """It said "since 8.5 s"."""
    async with serving(SampleIntrospection()):
        first = (await steer()).stdout.splitlines()[0]
    assert first.startswith("site: leads (default/site), has run for ")


@pytest.mark.parametrize("target", ["//[", "//[::1", "/objects//[", "/%ff?%ff", "?", "//"])
async def test_a_request_target_may_be_anything(target: str) -> None:
    """Other containers of the pod reach the port; what they send must not end in a traceback."""
    exchange = FakeExchange()
    HistoryApp(SampleIntrospection(), [SITE]).handle(Request("GET", target), exchange)
    assert exchange.response is not None
    assert exchange.response.status == 404


async def test_an_operator_that_records_nothing_says_how_it_would() -> None:
    """`steer run` keeps no objects unless it is asked to."""
    async with serving(SampleIntrospection()):
        found = await steer("site/a", "--save-test", "never.py")
    assert found.exit_code == 1
    assert "does not record what reconciles read: run it with --record, or use `steer dev`" in found.stderr


async def test_an_object_without_recordings_says_so(tmp_path: Path) -> None:
    """It has not run since the operator started, or not with that number."""
    source = SampleIntrospection()
    source.recorded = Recordings()
    async with serving(source):
        none = await steer("site/a", "--export", str(tmp_path / "a.json"))
        source.recorded.add(
            Recording(
                object=ObjectName("Site", "default", "a", "example.com"), controller="s", number=3, started=STARTED
            )
        )
        other = await steer("site/a", "--export", str(tmp_path / "a.json"), "--reconcile", "9")
    assert (none.exit_code, none.stderr) == (1, "steer: no reconcile of the object has been recorded yet\n")
    assert (other.exit_code, other.stderr) == (1, "steer: reconcile 9 is not recorded; recorded are 3\n")


def words_after_time(line: str) -> list[str]:
    """Return the words of a line after its time, which has a date unless it is of today."""
    return re.sub(r"^.*?\d\d:\d\d:\d\d\.\d{3} ", "", line).split()


async def test_reviews_of_all_replicas_are_shown_with_the_runs_of_the_one_that_leads() -> None:
    """Webhooks are served by every replica: a review is remembered where the API server sent it."""
    leader, other = SampleIntrospection(), SampleIntrospection()
    leader.add(run("a"))
    for source, second in ((leader, 3), (other, 2)):
        about = ObjectName("Site", "default", "a", "example.com")
        started = STARTED + timedelta(seconds=second)
        review = WebhookCall(webhook=f"/{second}", started=started, seconds=0.1, status=200, object=about)
        source.history.add_call(review)
    app = HistoryApp(other, [SITE])
    path = socket_path(os.getppid())
    async with serving(leader), Server(app, clock=RealClock(), listen=Listen(path=path)):
        lines = (await steer("site/a")).stdout.splitlines()
    assert [words_after_time(line)[:3] for line in lines if line[:2].isdigit()] == [
        ["reconcile", "1,", "2.0"],
        ["review", "by", "/2,"],
        ["review", "by", "/3,"],
    ]


async def test_the_replica_that_works_on_the_shard_of_the_object_is_found() -> None:
    """The former holder remembers more runs, and would say that nothing is left to do."""
    former, holder = ShardedIntrospection("a", is_working=False), ShardedIntrospection("b", is_working=True)
    for number in (1, 2, 3):
        former.add(run("a", number))
    holder.add(run("a", 4), KeyState(KeyPhase.BACKING_OFF))
    app, path = HistoryApp(former, [SITE]), socket_path(os.getppid())
    async with serving(holder), Server(app, clock=RealClock(), listen=Listen(path=path)):
        lines = (await steer("site/a")).stdout.splitlines()
        overview = (await steer()).stdout.splitlines()
    assert lines[2] == "Replica: b, which works on shard 5 of 8."
    runs = [words_after_time(line)[:2] for line in lines if line[:2].isdigit()]
    assert runs == [["reconcile", f"{number},"] for number in (1, 2, 3, 4)]
    assert overview[0].startswith("site: 2 replicas work on 1 of 8 shards (default/site), has run for ")
    assert overview[3] == "Site: 2 running; 14 runs, 4 failed, 8 workers"
    assert overview[-2:] == ["1 of 1 objects fail or wait, oldest first:", "  Site default/a: backing off"]


async def test_the_socket_of_a_killed_process_is_ignored_though_its_id_is_in_use() -> None:
    """A killed operator leaves its socket behind, and the id of its process is given away again."""
    source = SampleIntrospection()
    source.add(run("a"))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(os.getppid())))
    async with serving(source):
        answer = await steer()
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "process" not in answer.stdout


async def test_an_operator_elsewhere_is_not_to_blame_for_one_that_is_not_running() -> None:
    """Another project's operator runs; the user's own does not."""
    async with serving(SampleIntrospection()):
        answer = await steer("website/a")
    assert answer.exit_code == 1
    assert answer.stderr == (
        f"steer: no running operator reconciles 'website' (process {os.getpid()} reconciles Site, Zone): "
        "start the one that does\n"
    )
