"""The operator crashes after each of its writes, to the API server and to members, over the whole life of a set.

In each phase of that life an instance crashes at the first write at which none has crashed before, until there was a
crash at every write. With STEERSMAN_PROCESS_CRASHES=all each phase runs once for each write, on a fresh cluster.
"""

import itertools
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mongod_phases import BEFORE, PHASES, TIMEOUT, Phase
from mongod_testbed import MongodTestbed, StartTestbed, Writes, running
from steersman import Operator
from steersman.testing import PROCESS_CRASHES_VARIABLE, Cluster, Crash, crash_once, crash_once_at_each_write

from mgors.main import operator
from mgors.operator import mgors_operator

#: Logs each crash; ``pytest -o log_cli=true -o log_cli_level=INFO`` shows it.
log = logging.getLogger("deaths")


def made() -> Operator:
    """Create an instance of the operator, without any state."""
    return mgors_operator()


async def prepared(testbed: MongodTestbed, phase: Phase) -> None:
    """Prepare the set for the phase, with an operator that does not crash."""
    if not phase.members:
        return
    async with testbed.cluster.running(operator):
        await testbed.create(phase.members, **phase.fields)
        await testbed.until_ready(phase.members, TIMEOUT)
        await testbed.write(0, BEFORE)
        if phase.prepare is not None:
            await phase.prepare(testbed)


@asynccontextmanager
async def watched(testbed: MongodTestbed, phase: Phase) -> AsyncIterator[None]:
    """Check at the end of the block that no document that a majority acknowledged is lost."""
    writes = Writes()
    if phase.has_writer:
        async with testbed.writing() as writes:
            yield
            await testbed.until(lambda: writes.acknowledged)
    else:
        yield
    if phase.exists_after:
        await testbed.check(BEFORE, writes)


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
async def test_operators_crash_at_each_of_their_writes(start: StartTestbed, phase: Phase) -> None:
    """One after the other, in the same phase: the phase completes, and no document is lost."""
    async with start(is_operated=False) as testbed:
        await prepared(testbed, phase)
        async with crash_once_at_each_write(testbed.cluster, made) as lives, watched(testbed, phase):
            await phase.run(testbed)
            await testbed.until(lambda: phase.missing_crashes(writes[-1] for writes in lives) == [])
        for writes in lives:
            log.info("%s: crashed after %s", phase.name, writes[-1])


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all", reason=f"takes long: {PROCESS_CRASHES_VARIABLE}=all runs it"
)
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
async def test_an_operator_crashes_at_any_one_write(
    tmp_path: Path, phase: Phase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One crashes and another one takes over, for every write of the phase."""
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        monkeypatch.setenv("MGORS_BACKUPS", str(folder / "backups"))
        async with Cluster.start() as cluster, running(cluster, folder / "node", is_operated=False) as testbed:
            await prepared(testbed, phase)
            async with crash_once(cluster, made, Crash(number)) as first, watched(testbed, phase):
                await phase.run(testbed)
            if len(first.writes) < number:
                return
            log.info("%s: crashed after %s", phase.name, first.writes[-1])
