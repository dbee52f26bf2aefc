"""The commit that an installation of Steersman was built from, for ``steer --version`` and bug reports."""

from pathlib import Path


def commit() -> str:
    """Return the commit that this installation was built from; empty if it is not known."""
    folder = Path(__file__).parents[1]
    try:
        return (folder / "commit.txt").read_text(encoding="utf-8").strip()
    except OSError:
        return commit_of_repository(folder.parents[1])


def commit_of_repository(root: Path) -> str:
    """Return the commit that is checked out around an editable installation, without running git."""
    git = root / ".git"
    try:
        if git.is_file():
            git = (root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head
        reference = head.removeprefix("ref:").strip()
        shared = git / "commondir"
        common = (git / shared.read_text(encoding="utf-8").strip()).resolve() if shared.is_file() else git
        return (common / reference).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
