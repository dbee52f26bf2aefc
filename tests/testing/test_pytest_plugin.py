"""The plugin in a test run of its own: what users of pytest see."""

import subprocess
import sys
import textwrap
from pathlib import Path

#: A name that only type checkers know: since Python 3.14 it needs no quotes in an annotation.
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


def test_the_plugin_runs_coroutines_gives_clusters_and_finds_leaks(tmp_path: Path) -> None:
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
