"""Which files restart the operator."""

import os
from pathlib import Path

import pytest

from steersman.cli.dev.project_files import LOOK_EVERY, FileWatch, ProjectFiles, changed_files
from steersman.concurrency import background
from steersman.testing.fake_clock import FakeClock


def put(root: Path, *names: str) -> None:
    """Save files."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_python_files_settings_and_the_whole_package_are_watched(tmp_path: Path) -> None:
    """Templates inside the package are the operator's too; samples and manifests are not."""
    wanted = ["pyproject.toml", "helper.py", "ship/main.py", "ship/api/v1.py", "ship/page.html.jinja", "lib/x.py"]
    others = ["README.md", "samples/a.yaml", "manifests/install.yaml", "tests/test_a.py", "lib/notes.txt"]
    made = [".venv/lib/x.py", ".git/x.py", "ship/__pycache__/main.pyc", "build/x.py", "env/pyvenv.cfg", "env/lib/x.py"]
    put(tmp_path, *wanted, *others, *made)
    assert sorted(ProjectFiles(tmp_path, "ship").look()) == sorted(wanted)


@pytest.mark.parametrize("name", ["test_a.py", "a_test.py", "conftest.py", "ship/test_main.py", "lib/conftest.py"])
def test_a_test_outside_of_tests_is_not_watched(tmp_path: Path, name: str) -> None:
    """The first test of an author is often beside the operator; saving it must not restart what it tests."""
    put(tmp_path, "ship/main.py", "ship/testing.py", name)
    assert sorted(ProjectFiles(tmp_path, "ship").look()) == ["ship/main.py", "ship/testing.py"]


def test_symbolic_links_in_a_cycle_are_not_followed(tmp_path: Path) -> None:
    """A link to the folder above would never end."""
    put(tmp_path, "ship/main.py")
    (tmp_path / "ship/again").symlink_to(tmp_path)
    assert list(ProjectFiles(tmp_path, "ship").look()) == ["ship/main.py"]


def test_a_deleted_folder_has_no_files(tmp_path: Path) -> None:
    """A checkout deletes folders while they are read."""
    assert ProjectFiles(tmp_path / "gone", "ship").look() == {}


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        ({"a": (1, 1), "b": (1, 1)}, []),
        ({"a": (2, 1), "b": (1, 1)}, ["a"]),
        ({"a": (1, 2), "b": (1, 1)}, ["a"]),
        ({"a": (1, 1)}, ["b"]),
        ({"a": (1, 1), "b": (1, 1), "c": (1, 1)}, ["c"]),
    ],
)
def test_a_new_deleted_or_written_file_has_changed(after: dict[str, tuple[int, int]], changed: list[str]) -> None:
    """A different time or size is enough."""
    assert changed_files({"a": (1, 1), "b": (1, 1)}, after) == changed


async def test_many_writes_in_a_row_are_one_change(tmp_path: Path) -> None:
    """A checkout of a branch restarts the operator once, when it is done."""
    put(tmp_path, "ship/main.py")
    clock = FakeClock()
    found: list[list[str]] = []
    watch = FileWatch(ProjectFiles(tmp_path, "ship"), clock)

    async def wait() -> None:
        found.append(await watch.wait_changed())

    async with background(wait(), name="watch"):
        await clock.advance(10 * LOOK_EVERY)
        for name in ("one", "two", "three"):
            put(tmp_path, f"ship/{name}.py")
            await clock.advance(LOOK_EVERY)
            assert found == []
        await clock.advance(LOOK_EVERY)
    assert found == [["ship/one.py", "ship/three.py", "ship/two.py"]]


async def test_a_change_before_the_wait_is_noticed(tmp_path: Path) -> None:
    """A file saved while the operator is starting counts."""
    put(tmp_path, "ship/main.py")
    clock = FakeClock()
    watch = FileWatch(ProjectFiles(tmp_path, "ship"), clock)
    os.utime(tmp_path / "ship/main.py", (1, 1))
    found: list[list[str]] = []

    async def wait() -> None:
        found.append(await watch.wait_changed())

    async with background(wait(), name="watch"):
        await clock.advance(3 * LOOK_EVERY)
    assert found == [["ship/main.py"]]
