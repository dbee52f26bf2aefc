"""Crash tests with real processes and SIGKILL.

The operator runs as ``steer run`` against a served cluster. When the chosen write is carried out, its process is killed
and another one is started. This is slower than ``survive_crashes``, but nothing is simulated.
"""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.change_counts import ChangeCounts, Verb, excess
from steersman.testing.crashes.crash_switch import Crash, CrashSwitch
from steersman.testing.crashes.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.crashes.scenarios import Ending, InstanceMaker, Scenario, run_scenario, webhook_service
from steersman.testing.fake_clock import FakeClock
from steersman.testing.served_cluster import served
from steersman.testing.webhook_listener import InProcessListener
from steersman.webhook.operator_webhooks import OperatorWebhooks, need_webhooks

#: Environment variable: ``all`` means every write, before and after, whatever a test asks for.
PROCESS_CRASHES_VARIABLE = "STEERSMAN_PROCESS_CRASHES"
#: Timeout in seconds: processes start slowly on a busy machine.
_PATIENCE = 60.0
#: Seconds after which a cluster is compared although writes still arrive.
_LONGEST_REST = 10.0
#: What must not happen more often than without a crash. Updates are not compared: their number depends on which
#: intermediate states an operator sees, and real processes see different ones.
_COMPARED: frozenset[Verb] = frozenset({"created", "deleted"})
#: Logged by an operator when all its controllers run.
_STARTED = b'"message":"running"'
#: Seconds between checks for new writes.
_POLL_INTERVAL = 0.05
#: Characters of the operators' logs that a failure shows.
_LOG = 5000


async def survive_process_crashes(
    target: str,
    scenario: Scenario,
    *,
    at_most: int | None = None,
    normalise: Normalise = as_it_is,
    quiet: float = 1.0,
) -> list[str]:
    """Kill an operator's process at up to ``at_most`` of its writes; return the writes at which it was killed.

    ``target`` names the operator as ``steer run`` does, ``MODULE:OPERATOR``. The expected end state is recorded by an
    undisturbed run in this process. Raises ``AssertionError`` for kills after which the cluster ends in another state,
    leaves the expected state again before ``quiet`` seconds without a write have passed, or an object was created or
    deleted more often.
    """
    maker = InstanceMaker(target)
    expected = await run_scenario(target, scenario, None, clock=FakeClock(), normalise=normalise)
    killed, failures = [], []
    async with _fork_server(target) as fork_server:
        for crash in _crashes(len(expected.writes), at_most):
            run = _Run(fork_server, maker, crash, expected, quiet)
            failure = await run.failure(scenario, normalise)
            if run.switch.is_cut:
                killed.append(f"{crash.moment} {run.switch.writes[-1]}")
            if failure:
                failures.append(f"killed {crash.moment} write {crash.write}, {run.switch.writes[-1:]}:\n{failure}")
        if failures:
            raise AssertionError("\n\n".join([*failures, fork_server.log()]))
    return killed


def _crashes(writes: int, at_most: int | None) -> Iterator[Crash]:
    """Yield the crashes to try: spread evenly over all writes, alternating after and before."""
    if os.environ.get(PROCESS_CRASHES_VARIABLE) == "all":
        for number in range(1, writes + 1):
            yield Crash(number, "after")
            yield Crash(number, "before")
        return
    count = writes if at_most is None else min(at_most, writes)
    for turn in range(count):
        yield Crash(1 + turn * writes // count, "after" if turn % 2 == 0 else "before")


class _ForkServer:
    """Starts operators in separate processes; see ``steersman.testing.crashes.fork_server``."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    def started(self) -> int:
        """Return the number of operators whose controllers have started."""
        return self._log.read_bytes().count(_STARTED)

    @asynccontextmanager
    async def running(self, kubeconfig: Path) -> AsyncIterator[None]:
        """Run the operator inside the block; it is killed at the end, not asked to stop."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the fork server has no pipes")
        self._process.stdin.write(f"{kubeconfig}\n".encode())
        answer = await self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"no operator could be started:\n{self.log()}")
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(int(answer), signal.SIGKILL)

    def log(self) -> str:
        """Return the end of the operators' logs."""
        return self._log.read_text(errors="replace")[-_LOG:]


@asynccontextmanager
async def _fork_server(target: str) -> AsyncIterator[_ForkServer]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.NamedTemporaryFile(prefix="steersman-", suffix=".log") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "steersman.testing.crashes.fork_server", target),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log.fileno(),
        )
        try:
            yield _ForkServer(process, Path(log.name))
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


class _Run:
    """One run of a scenario with one kill."""

    def __init__(
        self, fork_server: _ForkServer, maker: InstanceMaker, crash: Crash, expected: Ending, quiet: float
    ) -> None:
        self._fork_server = fork_server
        self._quiet = quiet
        self._maker = maker
        self._operator = maker.original
        self._expected = expected
        self._cluster = Cluster(clock=RealClock())
        self._cluster.patience = _PATIENCE
        self.switch = CrashSwitch(self._cluster.faults, crash)
        self._is_back = False

    async def failure(self, scenario: Scenario, normalise: Normalise) -> str:
        """Run the scenario; return what is wrong with the end state, empty if nothing is."""
        cluster = self._cluster
        await self._maker.install(cluster)
        known = versions_of(cluster.server)
        changes = ChangeCounts(cluster.server, normalise)

        def wrong() -> str:
            return difference(self._expected.state, end_state(cluster.server, known, normalise))

        try:
            async with self._serving_webhooks(), background(self._supervise(), name="supervisor"):
                await scenario(cluster)
                await cluster.eventually(lambda: self._is_back or not self.switch.is_cut)
                await cluster.eventually(lambda: not wrong())
                await self._rest()
                if late := wrong():
                    return f"it ended as it should, and was changed afterwards:\n{late}"
                return "\n".join(excess(self._expected.changes, changes.counts(), _COMPARED))
        except (AssertionError, TimeoutError) as error:
            return wrong() or f"the scenario failed: {error}"
        finally:
            await cluster.transport.close()

    @asynccontextmanager
    async def _serving_webhooks(self) -> AsyncIterator[None]:
        """Serve the operator's webhooks from this process, which is not killed."""
        cluster, service = self._cluster, webhook_service(self._operator)
        async with AsyncExitStack() as stack:
            if need_webhooks([self._operator]):
                front = InProcessListener(service, cluster.serve_webhooks)
                webhooks = OperatorWebhooks(
                    [self._operator],
                    front,
                    lambda _: cluster.client,
                    installer_of=lambda _: cluster.client,
                    clock=cluster.clock,
                )
                presence = await stack.enter_async_context(webhooks.serving())
                await stack.enter_async_context(webhooks.registered(presence))
            yield

    async def _rest(self) -> None:
        """Wait until nothing was written for a while, so that late writes are noticed."""
        clock, objects = self._cluster.clock, self._cluster.server.objects
        version, since = objects.version, clock.monotonic()
        end = since + _LONGEST_REST
        while clock.monotonic() < min(since + self._quiet, end):
            await clock.sleep(_POLL_INTERVAL)
            if objects.version != version:
                version, since = objects.version, clock.monotonic()

    async def _supervise(self) -> None:
        async with served(self._cluster, self.switch) as kubeconfig, self._fork_server.running(kubeconfig):
            await self.switch.wait_for_crash()
        started = self._fork_server.started()
        async with served(self._cluster) as kubeconfig, self._fork_server.running(kubeconfig):
            await self._cluster.eventually(lambda: self._fork_server.started() > started)
            self._is_back = True
            await asyncio.get_running_loop().create_future()
