"""What ``crashes`` finds out, found out with real processes and SIGKILL.

The operator runs as ``steer run`` against a served cluster; when the chosen write is carried out its process is killed
and another one is started. It is slower than ``survive_crashes``, and nothing is simulated: choose a few writes.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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
from steersman.testing.served import served

#: In the environment, ``all`` means every write, before and after, whatever a test asks for.
VARIABLE = "STEERSMAN_KILLS"
#: Seconds that anything gets to happen: processes take their time to start, more of it on a busy machine.
_PATIENCE = 60.0


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
    for crash in _crashes(len(expected.writes), at_most):
        run = _Run(target, operator, crash, expected)
        failure = await run.failure(story, normalise)
        if run.fuse.is_cut:
            killed.append(f"{crash.moment} {run.fuse.writes[-1]}")
        if failure:
            failures.append(f"killed {crash.moment} write {crash.write}, {run.fuse.writes[-1:]}:\n{failure}")
    if failures:
        raise AssertionError("\n\n".join(failures))
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


class _Run:
    """One story with one kill."""

    def __init__(self, target: str, operator: Operator, crash: Crash, expected: Ending) -> None:
        self._target = target
        self._operator = operator
        self._expected = expected
        self._cluster = Cluster(clock=RealClock())
        self._cluster.patience = _PATIENCE
        self.fuse = Fuse(self._cluster.faults, crash)

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
                await cluster.eventually(lambda: not wrong())
        except (AssertionError, TimeoutError) as error:
            return wrong() or f"the story failed: {error}"
        finally:
            await cluster.transport.close()
        return ""

    async def _supervise(self) -> None:
        async with served(self._cluster, self.fuse) as kubeconfig, self._process(kubeconfig):
            await self.fuse.wait_blown()
        async with served(self._cluster) as kubeconfig, self._process(kubeconfig) as process:
            code = await process.wait()
            raise RuntimeError(f"{self._target} ended by itself with {code}")

    @asynccontextmanager
    async def _process(self, kubeconfig: Path) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the operator inside the block; at its end it is killed, not asked to stop."""
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = (sys.executable, "-m", "steersman.cli", "run", self._target)
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
