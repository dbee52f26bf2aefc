"""A program in another process under faults, from its first start to its last end."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from steersman import meta
from steersman.clock import RealClock
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.localcluster.process_node.processes.guardian import VARIABLE
from steersman.simulation.binaries.command_run import CommandCluster, CommandSetup
from steersman.simulation.binaries.command_simulator import Choice, kinds_of, plans_of, simulate_command
from steersman.simulation.binaries.program import OperatorExited, Program
from steersman.simulation.faults.plans import Plan
from steersman.simulation.faults.recording import EventStep, Recording, RestStep, WriteStep
from steersman.testing.cluster import Cluster

PROGRAM = Path(__file__).with_name("pair_operator.py")


async def creation(cluster: Cluster) -> None:
    """Create a pair, and wait."""
    await cluster.client.create(ConfigMap(meta("a", labels={"pair": "yes"})))
    await cluster.settle()


async def creation_and_deletion(cluster: Cluster) -> None:
    """Create a pair, delete it when it is complete, and wait."""
    pair = await cluster.client.create(ConfigMap(meta("a", labels={"pair": "yes"})))
    await cluster.eventually(lambda: len([one for one in cluster.list(Secret) if one.name.startswith("a-")]) == 2)
    await cluster.settle()
    await cluster.client.delete(pair)
    await cluster.settle()


def setup(manner: str, directory: Path, quiet: float = 1.0) -> CommandSetup:
    """Return how the program of the tests is run."""
    command = f"{sys.executable} -I -S {PROGRAM} {{kubeconfig}} {manner}"
    return CommandSetup(program=Program.parse(command), scenario=creation, quiet=quiet, directory=directory)


def left_behind(directory: Path) -> list[str]:
    """Return the processes that still run with a kubeconfig in the directory of a test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(directory).encode() in command:
            found.append(command.replace(b"\0", b" ").decode())
    return found


def test_a_pair_guarded_by_its_first_half_is_found_in_any_program(tmp_path: Path) -> None:
    """SIGKILL between two writes is what operators meet in a cluster; the second Secret never comes."""
    report = simulate_command(setup("hasty", tmp_path), Choice(faults=["crash-after"], parallel=2))
    assert [str(failure.plan) for failure in report.failures] == ["crash-after@write:1"]
    assert '-    "name": "a-2"' in report.text()
    assert "POST /api/v1/namespaces/default/secrets" in report.text()
    assert left_behind(tmp_path) == []


@pytest.mark.skipif(
    os.environ.get("STEERSMAN_SIMULATION") != "all",
    reason="20 s of real time: run it with STEERSMAN_SIMULATION=all",
)
def test_a_correct_program_survives_the_faults_that_the_other_does_not(tmp_path: Path) -> None:
    """No false alarms: the twin without the bug passes the same plans, a stale restart, and a lost answer."""
    careful = replace(setup("careful", tmp_path), scenario=creation_and_deletion)
    report = simulate_command(careful, Choice(faults=["crash-after", "stale-restart", "gateway-timeout"], parallel=4))
    report.raise_if_failed()
    tried = {fault.kind for plan in report.tried for fault in plan.faults}
    assert tried == {"crash-after", "stale-restart", "gateway-timeout"}
    assert report.missed == []
    # The scenario began when the program was ready, and not while it was being started.
    assert str(report.reference.outcome.recording.events[0]) == "ADDED configmaps default/a"
    assert left_behind(tmp_path) == []


def test_a_program_that_exits_is_shown_with_the_end_of_its_log(tmp_path: Path) -> None:
    """The reason is in its log, and nowhere else."""
    with pytest.raises(OperatorExited, match=r"exit code 1; its last log lines:\n  started\n  there is no sky"):
        simulate_command(setup("failing", tmp_path), Choice())
    assert left_behind(tmp_path) == []


def test_a_program_that_sends_no_request_is_named(tmp_path: Path) -> None:
    """A wrong flag leaves a program idle: silence is not success."""
    silent = replace(setup("careful", tmp_path, quiet=0.1), program=Program.parse("sleep 60"), patience=0.5)
    with pytest.raises(ConfigError, match=r"sent no request within 0\.5 s after it was started"):
        simulate_command(silent, Choice())


def test_events_that_arrive_late_are_waited_for(tmp_path: Path) -> None:
    """What a watch held back arrives when everything is at rest: the program must have time to act on it."""
    faults = ["watch-silent", "event-delayed", "stale-restart"]
    report = simulate_command(setup("careful", tmp_path), Choice(faults=faults, parallel=3))
    report.raise_if_failed()
    assert {plan.faults[0].kind for plan in report.tried} == set(faults)
    assert (report.unsteady, report.missed) == ([], [])


async def test_a_fault_that_keeps_the_operator_from_rest_ends_after_a_while(tmp_path: Path) -> None:
    """With a silent watch an operator may create and lose children without end; no real watch is silent forever."""
    clock = RealClock()
    cluster = CommandCluster(clock, replace(setup("careful", tmp_path, quiet=0.01), patience=0.2))
    ended = []

    def end_faults() -> None:
        ended.append(clock.monotonic())
        cluster.traffic.note(clock.monotonic(), "GET /api/v1/pods")

    cluster.end_faults = end_faults
    cluster.traffic.expect()
    await cluster.wait_rest()
    assert len(ended) == 1


def test_ctrl_c_ends_the_program_and_keeps_what_is_known(tmp_path: Path) -> None:
    """A user who stops waiting wants the results so far, and no processes."""

    def interrupt(report: object, plans: int) -> None:
        del report, plans
        raise KeyboardInterrupt

    report = simulate_command(setup("careful", tmp_path), Choice(faults=["crash-after"]), on_progress=interrupt)
    assert report.is_interrupted
    assert report.left == 2
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-manager --kubeconfig {kubeconfig}", "there is no program 'no-such-manager'"),
        ("", "the command is empty"),
        ("./manager 'x", "is not a command line"),
    ],
)
def test_a_command_that_cannot_run_is_rejected(command: str, message: str) -> None:
    """Before a cluster is started for it."""
    with pytest.raises(ConfigError, match=message):
        Program.parse(command)


def test_the_command_gets_its_kubeconfig_and_a_free_port() -> None:
    """Several processes of one program run at the same time, so each needs a port of its own."""
    executable = Program.parse("true --config={kubeconfig} --metrics :{port}").with_values(Path("config"))
    assert executable.arguments[1] == "--config=config"
    assert int(executable.arguments[3].removeprefix(":")) > 0
    assert executable.environment["KUBECONFIG"] == "config"
    assert executable.environment["PATH"] == os.environ["PATH"]
    assert VARIABLE not in executable.environment


def test_faults_that_need_virtual_time_are_rejected() -> None:
    """A clock cannot jump by an hour in real time."""
    with pytest.raises(ConfigError, match="clock-ahead cannot be injected"):
        kinds_of(["clock-ahead"])
    with pytest.raises(ConfigError, match="'fire' is not a kind of fault"):
        kinds_of(["fire"])
    assert "stale-restart" in {kind.name for kind in kinds_of(["usual"])}


def test_only_lists_that_accept_any_version_can_be_old() -> None:
    """A consistent list comes from a quorum, whatever the server that answers it."""
    recording = Recording(
        writes=[WriteStep(1, 1, "POST", "/api/v1/namespaces/d/secrets", 0.0)],
        events=[EventStep(1, 1, "/api/v1/pods", "ADDED", "d/a", "5"), EventStep(2, 1, "/x/boats", "ADDED", "d/b", "6")],
        rests=[RestStep(1, 1, 2, 9)],
        watched={"/api/v1/pods": "3", "/x/boats": "3"},
    )
    choice = Choice(faults=["stale-restart", "crash-after"])
    assert texts(plans_of(recording, choice)) == ["crash-after@write:1"]
    recording.stale_lists = frozenset({"/x/boats"})
    assert texts(plans_of(recording, choice)) == ["crash-after@write:1", "stale-restart@rest:1,/x/boats@3"]
    assert texts(plans_of(recording, replace(choice, only=frozenset({"boats"})))) == ["stale-restart@rest:1,/x/boats@3"]
    assert texts(plans_of(recording, replace(choice, most=1))) == ["crash-after@write:1"]


def texts(plans: list[Plan]) -> list[str]:
    """Return plans as text."""
    return [str(plan) for plan in plans]
