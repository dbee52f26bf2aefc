"""A long run: a hundred operators crash during twenty changes of the spec, and a client writes all the time."""

import logging
import os
from typing import Any

import pytest
from mongod_testbed import MongodTestbed, StartTestbed
from steersman import meta
from steersman.concurrency import background
from steersman.kinds.core_v1 import Secret
from steersman.randomness import Randomness
from steersman.testing import PROCESS_CRASHES_VARIABLE, Crash, run_until_crash

from mgors.api.mgors_v1 import Tls
from mgors.main import operator
from mgors.operator import mgors_operator

#: ``pytest -o log_cli=true -o log_cli_level=INFO`` shows how much was written.
log = logging.getLogger("soak")
OPERATORS, PER_CHANGE = 100, 5
_USER = {"name": "app", "db": "app", "passwordSecretRef": {"name": "app"}, "roles": [{"name": "read", "db": "app"}]}
#: Changes of the spec, one after the other; some before the last one is complete.
CHANGES: list[dict[str, Any]] = [
    {"members": 5},
    {"users": [_USER]},
    {"image": "mongo:6.0.5"},
    {"members": 3},
    {"storage": {"size": "20Gi"}},
    {"image": "mongo:6.0.4"},
    {"backup": {"schedule": "@every 5s", "keep": 2, "pointInTime": {"everySeconds": 2}}},
    {"users": []},
    {"members": 5, "image": "mongo:6.0.5"},
    {"featureCompatibilityVersion": "6.0"},
    {"backup": None},
    {"members": 1},
    {"members": 3},
    {"arbiters": 1, "members": 2},
    {"arbiters": 0, "members": 3},
    {"auth": {"keyfileRevision": "2"}},
    {"users": [_USER], "tls": {"revision": "2"}},
    {"members": 5},
    {"image": "mongo:6.0.5"},
    {"members": 3},
]


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all",
    reason=f"takes ten minutes: {PROCESS_CRASHES_VARIABLE}=all runs it",
)
async def test_a_hundred_operators_crash_during_twenty_changes(start: StartTestbed) -> None:
    """Each crashes at one of its first writes or after some seconds; no acknowledged write is lost."""
    chance = Randomness(1)
    async with start(is_operated=False) as testbed:
        async with testbed.cluster.running(operator):
            await testbed.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"x"}))
            await testbed.create(3, tls=Tls(revision="1"))
            await testbed.until_ready(within=180)
            await testbed.write(0, 100)
        async with testbed.writing() as writes:
            for number in range(OPERATORS):
                if number % PER_CHANGE == 0:
                    await testbed.patch(CHANGES[number // PER_CHANGE])
                await live_and_die(testbed, chance)
            async with testbed.cluster.running(operator):
                await testbed.until_ready(3, within=600)
        log.info("%d documents were acknowledged meanwhile", len(writes.acknowledged))
        await testbed.check(100, writes)
        assert "ForcedReconfig" not in testbed.events
        assert testbed.events.count("ReplicaSetInitiated") == 1


async def live_and_die(testbed: MongodTestbed, chance: Randomness) -> None:
    """Run an operator until it crashes, or for some seconds."""
    death = Crash(int(chance.between(1, 12)), "before" if chance.between(0, 1) < 0.5 else "after")
    life = run_until_crash(testbed.cluster, mgors_operator, death)

    async def live() -> None:
        await life

    async with background(live(), name="operator"):
        await testbed.cluster.clock.sleep(chance.between(0.5, 5))
