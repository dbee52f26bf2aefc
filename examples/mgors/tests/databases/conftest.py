"""Gives each test a world of its own: a cluster, a node that runs mongod as a process, and the operator."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mongod_testbed import FAST, MongodTestbed, NoMongodError, StartTestbed, mongod, running
from steersman.testing import Cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the driver be: it waits for no connection to close, and leaves one that it is making when it is cancelled.

    The collector of garbage finds them. Nothing else may be left to it.
    """
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning"))


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make everything fast; give the folder of backups."""
    backups = tmp_path / "backups"
    for name, value in {**FAST, "MGORS_BACKUPS": str(backups)}.items():
        monkeypatch.setenv(name, value)
    return backups


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> StartTestbed:
    """Give a function that runs a world, with the operator unless the test brings its own."""
    try:
        mongod()
    except NoMongodError as error:
        pytest.skip(str(error))

    def begin(*, is_operated: bool = True) -> AbstractAsyncContextManager[MongodTestbed]:
        return running(cluster, tmp_path / "node", is_operated=is_operated)

    return begin
