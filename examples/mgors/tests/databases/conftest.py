"""Fixtures for tests with real databases: a cluster, a node that runs mongod processes, and the operator."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mongod_testbed import FAST, MongodTestbed, NoMongodError, StartTestbed, mongod, running
from steersman.testing import Cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings about connections of the driver, which does not wait until they are closed.

    The collector of garbage finds them. Nothing else may be left to it.
    """
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning"))


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set short time limits; return the folder of backups."""
    backups = tmp_path / "backups"
    for name, value in {**FAST, "MGORS_BACKUPS": str(backups)}.items():
        monkeypatch.setenv(name, value)
    return backups


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> StartTestbed:
    """Return a function that runs a testbed, with the operator unless the test runs its own."""
    try:
        mongod()
    except NoMongodError as error:
        pytest.skip(str(error))

    def begin(*, is_operated: bool = True) -> AbstractAsyncContextManager[MongodTestbed]:
        return running(cluster, tmp_path / "node", is_operated=is_operated)

    return begin
