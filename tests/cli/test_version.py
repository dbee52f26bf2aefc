"""`steer --version` says what a bug report needs."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from steersman.cli import main
from steersman.cli.build_commit import commit_of_repository
from steersman.version import __version__

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_version_python_and_commit_are_shown() -> None:
    """The commit tells two builds of one version apart."""
    shown = CliRunner().invoke(main, ["--version"]).output
    assert shown.startswith(f"steer {__version__}")
    assert shown.endswith(f", Python {sys.version.split()[0]}\n")


@pytest.mark.parametrize("is_worktree", [False, True])
def test_the_commit_of_a_checkout_is_found_without_git(tmp_path: Path, *, is_worktree: bool) -> None:
    """An editable installation has no file with the commit."""
    git = tmp_path / ".git"
    if is_worktree:
        git.write_text("gitdir: main/worktrees/a\n")
        own = tmp_path / "main" / "worktrees" / "a"
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        common = tmp_path / "main"
    else:
        own = common = git
        git.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/a\n")
    (common / "refs" / "heads").mkdir(parents=True)
    (common / "refs" / "heads" / "a").write_text(f"{COMMIT}\n")
    assert commit_of_repository(tmp_path) == COMMIT
    (own / "HEAD").write_text(f"{COMMIT}\n")
    assert commit_of_repository(tmp_path) == COMMIT


def test_an_unknown_commit_is_left_out(tmp_path: Path) -> None:
    """A copy of the sources without a repository has none."""
    assert commit_of_repository(tmp_path) == ""
