"""The guides for newcomers, executed literally in a shell; `make scaffold-check` does the same with real downloads."""

import os
import re
import shlex
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from steersman import Client, Context, Operator
from steersman.testing.cluster import Cluster
from tools.scaffold_check import NEEDS_CLUSTER
from tools.typed_guide import follow

ROOT = Path(__file__).parents[2]
#: Commands that set up an environment: they need a network, and this environment is set up.
SET_UP = re.compile(r"pip install|python3 -m venv|\. \.venv/bin/activate")
#: Programs that a reader has before the first line.
GIVEN = {"python3", "python", "pip", "make", "mkdir", "cd", "export", "kubectl", "."}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a shell that finds the programs of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cache = str(ROOT / ".mypy_cache" / "guides")
    return {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8", "MYPY_CACHE_DIR": cache}


def is_typed(command: str) -> bool:
    """Return whether a command needs neither a network nor a cluster of the reader."""
    return SET_UP.match(command) is None and NEEDS_CLUSTER.match(command) is None


@pytest.mark.parametrize("guide", ["first-operator", "development", "projects"])
def test_a_guide_works_as_written(guide: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """A newcomer copies the commands in the order of the page, and has nothing else."""
    page = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    commands = follow(page, folder, environment, is_typed=is_typed)
    check_installed(commands)


def test_the_readme_of_a_new_project_works_as_written(tmp_path: Path, environment: dict[str, str]) -> None:
    """It is the first page that the author of an operator reads, and no other test runs it."""
    follow("```console\n$ steer init fleet --domain example.com\n```\n", tmp_path, environment)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    commands = follow(readme, tmp_path, environment, is_typed=is_typed)
    # pip can install a dependency group since 25.1; the pip of a new virtual environment is that of its Python.
    groups = [number for number, command in enumerate(commands) if "-e . --group" in command]
    upgrades = [number for number, command in enumerate(commands) if command.startswith("pip install --upgrade pip")]
    assert not groups or (upgrades and upgrades[0] < groups[0])
    for target in [command.removeprefix("make ") for command in commands if command.startswith("make ")]:
        follow(f"```console\n$ make --dry-run {target}\n```\n", tmp_path, environment)


def check_installed(commands: list[str]) -> None:
    """Assert that every program of the commands existed before, or was installed by one of them."""
    named = [name for command in commands for name in requirements_of(command)]
    programs = GIVEN.union(*(programs_of(name, set()) for name in named)) if named else GIVEN | {"steer"}
    for command in commands:
        words = shlex.split(command, comments=True)
        used = words[2] if words[1:2] == ["-m"] and words[2] != "venv" else words[0]
        assert used in programs, f"no line of the guide installs {used!r}, which {command!r} needs"


def requirements_of(command: str) -> list[str]:
    """Return the packages that a ``pip install`` names."""
    words = shlex.split(command, comments=True)
    return [word for word in words[2:] if not word.startswith("-")] if words[:2] == ["pip", "install"] else []


def programs_of(name: str, seen: set[str]) -> set[str]:
    """Return the programs of a package and of all its dependencies."""
    if name in seen:
        return set()
    seen.add(name)
    found = distribution(name)
    programs = {point.name for point in found.entry_points if point.group == "console_scripts"}
    needed = [Requirement(text) for text in found.requires or ()]
    wanted = [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return programs.union(*(programs_of(one, seen) for one in wanted))


def test_the_guides_contain_the_words_that_users_search_for() -> None:
    """A user who knows Kubernetes, controller-runtime or kopf searches for their words."""
    text = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    words = ["CRD", "RBAC", "webhook", "leader election", "informer", "finalizer", "owner reference"]
    assert [word for word in words if word.lower() not in text.lower()] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert [word for word in words[:6] if word.lower() not in readme] == []


def test_the_names_in_the_glossary_exist() -> None:
    """Names change; a wrong glossary is worse than none."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    owners = {"ctx": Context, "operator": Operator, "cluster": Cluster, "client": Client}
    used = re.findall(rf"`(?:await )?({'|'.join(owners)})\.([a-z]\w*)", text)
    assert len(used) > 10
    assert [f"{owner}.{name}" for owner, name in used if not hasattr(owners[owner], name)] == []
