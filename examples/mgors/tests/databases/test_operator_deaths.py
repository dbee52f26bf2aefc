"""The operator is gone after each of its writes, to the API server and to members, all through the life of a set.

In each phase of that life an instance dies at the first write at which none died before it, until all that is written
was the end of one. With STEERSMAN_PROCESS_CRASHES=all each phase runs once for every single write, on a fresh cluster.
"""

import itertools
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mongod_phases import BEFORE, PATIENCE, PHASES, Phase
from mongod_world import StartWorld, World, Writes, running
from steersman import Operator
from steersman.testing import PROCESS_CRASHES_VARIABLE, Cluster, Crash, crash_once, crash_once_at_each_write

from mgors.main import operator
from mgors.operator import mgors_operator

#: Tells of each death; ``pytest -o log_cli=true -o log_cli_level=INFO`` shows it.
log = logging.getLogger("deaths")


def made() -> Operator:
    """Create an instance of the operator, which remembers nothing."""
    return mgors_operator()


async def prepared(world: World, phase: Phase) -> None:
    """Bring the set to where the phase begins, with an operator that lives."""
    if not phase.members:
        return
    async with world.cluster.running(operator):
        await world.create(phase.members, **phase.fields)
        await world.until_ready(phase.members, PATIENCE)
        await world.write(0, BEFORE)
        if phase.prepare is not None:
            await phase.prepare(world)


@asynccontextmanager
async def watched(world: World, phase: Phase) -> AsyncIterator[None]:
    """Check at the end of the block that all documents are there that a majority acknowledged before it and in it."""
    writes = Writes()
    if phase.is_open:
        async with world.writing() as writes:
            yield
            await world.until(lambda: writes.acknowledged)
    else:
        yield
    if phase.stays:
        await world.check(BEFORE, writes)


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
async def test_operators_die_at_each_of_their_writes(start: StartWorld, phase: Phase) -> None:
    """One after the other, in the same phase: it comes to its end, and no document is lost."""
    async with start(is_operated=False) as world:
        await prepared(world, phase)
        async with crash_once_at_each_write(world.cluster, made) as lives, watched(world, phase):
            await phase.happens(world)
            await world.until(lambda: phase.missing_deaths(writes[-1] for writes in lives) == [])
        for writes in lives:
            log.info("%s: died after %s", phase.name, writes[-1])


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all", reason=f"takes long: {PROCESS_CRASHES_VARIABLE}=all runs it"
)
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.name)
async def test_an_operator_dies_at_any_one_write(tmp_path: Path, phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that dies and one that takes over, for every write that there is in the phase."""
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        monkeypatch.setenv("MGORS_BACKUPS", str(folder / "backups"))
        async with Cluster.start() as cluster, running(cluster, folder / "node", is_operated=False) as world:
            await prepared(world, phase)
            async with crash_once(cluster, made, Crash(number)) as first, watched(world, phase):
                await phase.happens(world)
            if len(first.writes) < number:
                return
            log.info("%s: died after %s", phase.name, first.writes[-1])
