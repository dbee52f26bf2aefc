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
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path

from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.manager.operator import Operator
from steersman.testing.cluster import Cluster
from steersman.testing.crashes import Ending, Story, run_story
from steersman.testing.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.fake_clock import FakeClock
from steersman.testing.fuse import Crash, Fuse
from steersman.testing.served_cluster import served

#: In the environment, ``all`` means every write, before and after, whatever a test asks for.
VARIABLE = "STEERSMAN_KILLS"
#: Seconds that anything gets to happen: processes take their time to start, more of it on a busy machine.
_PATIENCE = 60.0
#: What an operator logs when all its controllers run.
_STARTED = b'"message":"running"'
#: Characters of the operators' logs that a failure tells.
_LOG = 5000


async def survive_kills(
    target: str, story: Story, *, at_most: int | None = None, normalise: Normalise = as_it_is
) -> list[str]:
    """Kill an operator's process at its writes, at most so many of them; give the writes at which it was killed.

    ``target`` names the operator as ``steer run`` does, ``MODULE:OPERATOR``. Where the cluster should end is found out
    by an undisturbed run in this process. Raises ``AssertionError`` for kills after which it ends elsewhere.
    """
    operator = _load(target)
    expected = await run_story(operator, story, None, clock=FakeClock(), normalise=normalise)
    killed, failures = [], []
    async with _nursery(target) as nursery:
        for crash in _crashes(len(expected.writes), at_most):
            run = _Run(nursery, operator, crash, expected)
            failure = await run.failure(story, normalise)
            if run.fuse.is_cut:
                killed.append(f"{crash.moment} {run.fuse.writes[-1]}")
            if failure:
                failures.append(f"killed {crash.moment} write {crash.write}, {run.fuse.writes[-1:]}:\n{failure}")
        if failures:
            raise AssertionError("\n\n".join([*failures, nursery.log()]))
    return killed


def _load(target: str) -> Operator:
    module, _, name = target.partition(":")
    operator = getattr(import_module(module), name or "operator")
    if not isinstance(operator, Operator):
        raise ConfigError(f"{target} is no Operator: {operator!r}")
    return operator


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

    def __init__(self, nursery: _Nursery, operator: Operator, crash: Crash, expected: Ending) -> None:
        self._nursery = nursery
        self._operator = operator
        self._expected = expected
        self._cluster = Cluster(clock=RealClock())
        self._cluster.patience = _PATIENCE
        self.fuse = Fuse(self._cluster.faults, crash)
        self._is_back = False

    async def failure(self, story: Story, normalise: Normalise) -> str:
        """Run it; give what is wrong with its end, empty if nothing is."""
        cluster = self._cluster
        await cluster.install(*self._operator.kinds)
        known = versions_of(cluster.server)

        def wrong() -> str:
            return difference(self._expected.state, end_state(cluster.server, known, normalise))

        try:
            async with background(self._supervise(), name="supervisor"):
                await story(cluster)
                await cluster.eventually(lambda: self._is_back or not self.fuse.is_cut)
                await cluster.eventually(lambda: not wrong())
        except (AssertionError, TimeoutError) as error:
            return wrong() or f"the story failed: {error}"
        finally:
            await cluster.transport.close()
        return ""

    async def _supervise(self) -> None:
        async with served(self._cluster, self.fuse) as kubeconfig, self._nursery.running(kubeconfig):
            await self.fuse.wait_blown()
        started = self._nursery.started()
        async with served(self._cluster) as kubeconfig, self._nursery.running(kubeconfig):
            await self._cluster.eventually(lambda: self._nursery.started() > started)
            self._is_back = True
            await asyncio.get_running_loop().create_future()
