"""What ``crashes`` finds out, found out with real processes and SIGKILL.

The operator runs as ``steer run`` against a served cluster; when the chosen write is carried out its process is killed
and another one is started. It is slower than ``survive_crashes``, and nothing is simulated.
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
from steersman.testing.change_counts import ChangeCounts, Verb, excess
from steersman.testing.cluster import Cluster
from steersman.testing.crashes import Ending, InstanceMaker, Story, run_story, webhook_service
from steersman.testing.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.fake_clock import FakeClock
from steersman.testing.fuse import Crash, Fuse
from steersman.testing.served_cluster import served
from steersman.testing.webhook_front import InProcessFront
from steersman.webhook.operator_webhooks import OperatorWebhooks, need_webhooks

#: In the environment, ``all`` means every write, before and after, whatever a test asks for.
VARIABLE = "STEERSMAN_KILLS"
#: Seconds that anything gets to happen: processes take their time to start, more of it on a busy machine.
_PATIENCE = 60.0
#: Seconds after which a cluster that does not come to rest is looked at again all the same.
_RESTLESS = 10.0
#: What must not be done more often than without a kill. Updates are not compared: how many there are depends on what an
#: operator sees on the way, and real processes see different things.
_COMPARED: frozenset[Verb] = frozenset({"created", "deleted"})
#: What an operator logs when all its controllers run.
_STARTED = b'"message":"running"'
#: Seconds between looks at whether something was written.
_LOOK_EVERY = 0.05
#: Characters of the operators' logs that a failure tells.
_LOG = 5000


async def survive_kills(
    target: str,
    story: Story,
    *,
    at_most: int | None = None,
    normalise: Normalise = as_it_is,
    quiet: float = 1.0,
) -> list[str]:
    """Kill an operator's process at its writes, at most so many of them; return the writes at which it was killed.

    ``target`` names the operator as ``steer run`` does, ``MODULE:OPERATOR``. Where the cluster should end is found out
    by an undisturbed run in this process. Raises ``AssertionError`` for kills after which it ends elsewhere, or ends
    there and is somewhere else when nothing was written for ``quiet`` seconds, or an object was created or deleted more
    often.
    """
    maker = InstanceMaker(target)
    expected = await run_story(target, story, None, clock=FakeClock(), normalise=normalise)
    killed, failures = [], []
    async with _nursery(target) as nursery:
        for crash in _crashes(len(expected.writes), at_most):
            run = _Run(nursery, maker, crash, expected, quiet)
            failure = await run.failure(story, normalise)
            if run.fuse.is_cut:
                killed.append(f"{crash.moment} {run.fuse.writes[-1]}")
            if failure:
                failures.append(f"killed {crash.moment} write {crash.write}, {run.fuse.writes[-1:]}:\n{failure}")
        if failures:
            raise AssertionError("\n\n".join([*failures, nursery.log()]))
    return killed


def _crashes(writes: int, at_most: int | None) -> Iterator[Crash]:
    """Choose when to kill: evenly among all writes, by turns after and before one."""
    if os.environ.get(VARIABLE) == "all":
        for number in range(1, writes + 1):
            yield Crash(number, "after")
            yield Crash(number, "before")
        return
    count = writes if at_most is None else min(at_most, writes)
    for turn in range(count):
        yield Crash(1 + turn * writes // count, "after" if turn % 2 == 0 else "before")


class _Nursery:
    """Starts operators in processes of their own; see ``steersman.testing.nursery``."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    def started(self) -> int:
        """Count the operators that have come as far as to work."""
        return self._log.read_bytes().count(_STARTED)

    @asynccontextmanager
    async def running(self, kubeconfig: Path) -> AsyncIterator[None]:
        """Run the operator inside the block; at its end it is killed, not asked to stop."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the nursery has no pipes")
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
        """Give what the operators logged, the last of it."""
        return self._log.read_text(errors="replace")[-_LOG:]


@asynccontextmanager
async def _nursery(target: str) -> AsyncIterator[_Nursery]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.NamedTemporaryFile(prefix="steersman-", suffix=".log") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "steersman.testing.nursery", target),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log.fileno(),
        )
        try:
            yield _Nursery(process, Path(log.name))
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


class _Run:
    """One story with one kill."""

    def __init__(self, nursery: _Nursery, maker: InstanceMaker, crash: Crash, expected: Ending, quiet: float) -> None:
        self._nursery = nursery
        self._quiet = quiet
        self._maker = maker
        self._operator = maker.original
        self._expected = expected
        self._cluster = Cluster(clock=RealClock())
        self._cluster.patience = _PATIENCE
        self.fuse = Fuse(self._cluster.faults, crash)
        self._is_back = False

    async def failure(self, story: Story, normalise: Normalise) -> str:
        """Run it; return what is wrong with its end, empty if nothing is."""
        cluster = self._cluster
        await self._maker.install(cluster)
        known = versions_of(cluster.server)
        changes = ChangeCounts(cluster.server, normalise)

        def wrong() -> str:
            return difference(self._expected.state, end_state(cluster.server, known, normalise))

        try:
            async with self._serving_webhooks(), background(self._supervise(), name="supervisor"):
                await story(cluster)
                await cluster.eventually(lambda: self._is_back or not self.fuse.is_cut)
                await cluster.eventually(lambda: not wrong())
                await self._rest()
                if late := wrong():
                    return f"it ended as it should, and was changed afterwards:\n{late}"
                return "\n".join(excess(self._expected.changes, changes.counts(), _COMPARED))
        except (AssertionError, TimeoutError) as error:
            return wrong() or f"the story failed: {error}"
        finally:
            await cluster.transport.close()

    @asynccontextmanager
    async def _serving_webhooks(self) -> AsyncIterator[None]:
        """Let this process answer for the operator's webhooks: it lives on when the operator does not."""
        cluster, service = self._cluster, webhook_service(self._operator)
        async with AsyncExitStack() as stack:
            if need_webhooks([self._operator]):
                front = InProcessFront(service, cluster.serve_webhooks)
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
        """Wait until nothing was written for a while: a late write is a write."""
        clock, ledger = self._cluster.clock, self._cluster.server.ledger
        version, since = ledger.version, clock.monotonic()
        end = since + _RESTLESS
        while clock.monotonic() < min(since + self._quiet, end):
            await clock.sleep(_LOOK_EVERY)
            if ledger.version != version:
                version, since = ledger.version, clock.monotonic()

    async def _supervise(self) -> None:
        async with served(self._cluster, self.fuse) as kubeconfig, self._nursery.running(kubeconfig):
            await self.fuse.wait_blown()
        started = self._nursery.started()
        async with served(self._cluster) as kubeconfig, self._nursery.running(kubeconfig):
            await self._cluster.eventually(lambda: self._nursery.started() > started)
            self._is_back = True
            await asyncio.get_running_loop().create_future()
