"""The operator crashes after each of its writes, to the API server and to Redis, over a whole life."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from steersman.testing import PROCESS_CRASHES_VARIABLE, crash_once, crash_once_at_each_write

from redis_testbed.crashes import CrashAfterWrites, operator_factory
from redis_testbed.scenarios import (
    EVENTS,
    WHOLE_LIVES,
    Scenario,
    change_settings,
    create_failover,
    delete_failover,
    kill_all_servers,
    kill_master,
    make_backups,
    replace_all_sentinels,
    scale_sentinels,
    scale_servers,
    update_image,
)
from redis_testbed.testbed import RedisTestbed

PODS = "DELETE /api/v1/namespaces/default/pods"
#: Writes after which an instance must have crashed in each scenario, whatever the sentinels do meanwhile.
CRASHES: dict[Scenario, set[str]] = {
    create_failover: {"redis: REPLICAOF", "redis: SENTINEL MONITOR", "redis: SENTINEL SET failover-timeout"},
    kill_master: set(),
    change_settings: {"redis: CONFIG SET maxmemory", "redis: CONFIG SET hz"},
    update_image: {"redis: REPLICAOF", f"{PODS}/rfr-a-0", f"{PODS}/rfr-a-1", f"{PODS}/rfr-a-2"},
    make_backups: {"redis: write a backup"},
    delete_failover: set(),
    replace_all_sentinels: {"redis: SENTINEL MONITOR", "redis: SENTINEL SET failover-timeout"},
    scale_sentinels: {"redis: SENTINEL SET quorum", "redis: SENTINEL REMOVE", "redis: SENTINEL MONITOR"},
    scale_servers: {"redis: REPLICAOF", "redis: SENTINEL REMOVE", "redis: SENTINEL MONITOR"},
    kill_all_servers: set(),
}


@pytest.mark.parametrize(
    "parts",
    [
        (create_failover, kill_master, change_settings, update_image, make_backups, delete_failover),
        (create_failover, replace_all_sentinels, scale_sentinels, scale_servers, kill_all_servers, delete_failover),
    ],
    ids=["changed", "resized"],
)
async def test_an_operator_that_crashes_at_each_kind_of_write_loses_nothing(
    tmp_path: Path, parts: list[Scenario]
) -> None:
    """In each scenario one instance after the other crashes, each at a write where none has crashed before."""
    async with RedisTestbed.start(tmp_path) as testbed:
        for scenario in parts:
            async with crash_once_at_each_write(testbed.cluster, operator_factory(testbed.backups)) as lives:
                await scenario(testbed)
            assert {one[-1] for one in lives} >= CRASHES[scenario]


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all", reason=f"takes an hour: set {PROCESS_CRASHES_VARIABLE}=all"
)
@pytest.mark.parametrize("scenario", [*EVENTS, *WHOLE_LIVES], ids=lambda scenario: scenario.__name__)
async def test_an_operator_that_crashes_at_any_single_write_loses_nothing(
    tmp_path: Path, scenario: Scenario, record_property: Callable[[str, object], None]
) -> None:
    """One crash for each write: the scenario is repeated until there is no further write to crash at."""
    async with RedisTestbed.start(tmp_path) as testbed:
        await testbed.cluster.install(*testbed.operator.kinds)
        if scenario in EVENTS:
            async with testbed.cluster.running(testbed.operator):
                await create_failover(testbed)
        crashed: list[str] = []
        for number in itertools.count(1):
            crash_point = CrashAfterWrites(number)
            async with crash_once(testbed.cluster, operator_factory(testbed.backups), crash_point) as first:
                await testbed.cluster.settle()
                crash_point.count_from(first)
                await scenario(testbed)
                if not first.is_cut:
                    break
                crashed.append(first.writes[-1])
        assert crashed
        record_property("crashed", crashed)
