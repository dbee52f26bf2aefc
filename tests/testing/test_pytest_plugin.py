"""The plugin in a separate test run: what users of pytest see."""

import subprocess
import sys
import textwrap
from pathlib import Path

#: A name that exists for type checkers only: since Python 3.14 it needs no quotes in an annotation.
CLUSTER = "Cluster" if sys.version_info >= (3, 14) else "'Cluster'"
TESTS = textwrap.dedent(
    f"""
    import asyncio
    from typing import TYPE_CHECKING
    from steersman import meta
    from steersman.kinds.core_v1 import ConfigMap

    if TYPE_CHECKING:
        from steersman.testing import Cluster

    async def test_a_cluster_of_its_own(cluster: {CLUSTER}):
        await cluster.client.create(ConfigMap(meta("a")))
        assert len(cluster.list(ConfigMap)) == 1

    async def test_another_cluster(cluster, fake_clock):
        assert cluster.clock is fake_clock
        assert cluster.list(ConfigMap) == []

    def test_plain_functions_still_run():
        pass

    async def test_a_leak():
        asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="forgotten")
    """
)


def test_the_plugin_runs_coroutines_provides_clusters_and_finds_leaks(tmp_path: Path) -> None:
    """Async tests without another plugin; each with its own cluster; a forgotten task fails its test."""
    (tmp_path / "test_users.py").write_text(TESTS)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 3 passed" in run.stdout, run.stdout
    assert "left tasks behind: ['forgotten']" in run.stdout


HANGING = textwrap.dedent(
    """
    import asyncio
    import pytest

    async def beside(never):
        await never.wait()

    async def test_that_hangs():
        never = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(beside(never), name="beside")
            await never.wait()

    @pytest.mark.async_test_timeout(60)
    async def test_that_may_take_longer():
        await asyncio.sleep(0.2)
    """
)


def test_a_test_that_hangs_fails_with_the_stacks_of_its_tasks(tmp_path: Path) -> None:
    """It shows where each task waits, which a killed test run does not."""
    (tmp_path / "test_users.py").write_text(HANGING)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "async_test_timeout=0.1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout
    assert "the test did not end within 0.1 s" in run.stdout
    assert "task beside:" in run.stdout
    assert run.stdout.count("await never.wait()") >= 2
