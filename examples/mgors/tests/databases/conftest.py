"""Gives each test a world of its own: a cluster, a node that runs mongod as a process, and the operator."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mongod_world import FAST, NoMongodError, StartWorld, World, mongod, running
from steersman.testing.cluster import Cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the driver be: when it is closed while it connects, it leaves a socket for the collector of garbage."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make everything fast; give the folder of backups."""
    backups = tmp_path / "backups"
    for name, value in {**FAST, "MGORS_BACKUPS": str(backups)}.items():
        monkeypatch.setenv(name, value)
    return backups


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> StartWorld:
    """Give a function that runs a world, with the operator unless the test brings its own."""
    try:
        mongod()
    except NoMongodError as error:
        pytest.skip(str(error))

    def begin(*, is_operated: bool = True) -> AbstractAsyncContextManager[World]:
        return running(cluster, tmp_path / "node", is_operated=is_operated)

    return begin
