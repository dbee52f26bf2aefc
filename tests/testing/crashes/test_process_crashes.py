"""Crashes of an operator in a real process."""

import pytest

from steersman import meta
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.process_crashes import _crashes, survive_process_crashes


async def _a_config_map_is_stamped(cluster: Cluster) -> None:
    await cluster.client.create(ConfigMap(meta("note")))
    await cluster.eventually(lambda: any(one.data == {"stamp": "seen"} for one in cluster.list(ConfigMap)))


async def test_a_process_is_killed_at_its_write_and_another_takes_over() -> None:
    """What no simulation can promise: a real process, a real SIGKILL, a real restart."""
    killed = await survive_process_crashes("tests.testing.stamping:operator", _a_config_map_is_stamped, at_most=1)
    assert killed == ["after PATCH /api/v1/namespaces/default/configmaps/note"]


async def test_a_write_that_comes_late_is_noticed() -> None:
    """The right end state may not stay: it is compared again when nothing has been written for a while."""
    with pytest.raises(AssertionError, match="late"):
        await survive_process_crashes(
            "tests.testing.late_writing:operator", _a_config_map_is_stamped, at_most=1, quiet=2.0
        )


async def test_a_target_must_be_an_operator() -> None:
    """A wrong name is an error at once, not a process that never becomes ready."""
    with pytest.raises(ConfigError, match="is not an Operator"):
        await survive_process_crashes("tests.testing.stamping:ConfigMap", _a_config_map_is_stamped)


def test_few_crashes_are_spread_over_all_writes() -> None:
    """The first writes are not the only ones that matter."""
    assert [(one.write, one.moment) for one in _crashes(9, 3)] == [(1, "after"), (4, "before"), (7, "after")]
    assert [one.write for one in _crashes(2, 5)] == [1, 2]
    assert [one.write for one in _crashes(3, None)] == [1, 2, 3]


def test_the_environment_can_request_all_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write, before and after."""
    monkeypatch.setenv("STEERSMAN_PROCESS_CRASHES", "all")
    crashes = [(one.write, one.moment) for one in _crashes(2, 1)]
    assert crashes == [(1, "after"), (1, "before"), (2, "after"), (2, "before")]
