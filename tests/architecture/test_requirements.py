"""Tests of the hash-locked files in requirements/."""

import re
from itertools import combinations
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
FILES = sorted(REQUIREMENTS.glob("*.txt"))
#: The file that each includes; demo.txt is the first one.
BASES = {path: "demo.txt" if path.name == "dev.txt" else "dev.txt" for path in FILES if path.name != "demo.txt"}


def locked_packages(path: Path) -> set[str]:
    """Return the names of the packages that a file locks itself, without those of files that it includes."""
    return set(re.findall(r"^([a-z0-9._-]+)==", path.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize(("one", "other"), list(combinations(FILES, 2)), ids=lambda path: path.stem)
def test_a_package_is_locked_in_one_file(one: Path, other: Path) -> None:
    """A version that two files lock can differ between them after an update of only one."""
    assert locked_packages(one) & locked_packages(other) == set()


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_every_other_file_includes_its_base(path: Path) -> None:
    """With --require-hashes pip rejects a file that does not lock the dependencies of its packages, too."""
    assert path.read_text(encoding="utf-8").startswith(f"-r {BASES[path]}\n")
    assert locked_packages(path)
