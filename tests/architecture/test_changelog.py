"""The table of renamed names in the changelog can be used by a script."""

import importlib
import re
from pathlib import Path

ROW = re.compile(r"^\| `(\S+)` \| `(\S+)` \|$")


def _table() -> list[str]:
    """Return the lines of the table below "Names."."""
    _, _, rest = Path("CHANGELOG.md").read_text().partition("**Names.**")
    table, _, _ = rest.partition("\n**")
    return [line for line in table.splitlines() if line.startswith("| `")]


def _exists(dotted: str) -> bool:
    """Return whether a module, or an attribute of one, has this name."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[end:])
    return False


def test_every_row_has_one_old_and_one_new_name() -> None:
    """A script cannot apply a row with braces, several names or an explanation."""
    assert len(_table()) > 50
    assert [row for row in _table() if not ROW.match(row)] == []


def test_every_new_name_exists_and_no_old_one_does() -> None:
    """An author who applies the table must get code that can be imported."""
    rows = [match.groups() for row in _table() if (match := ROW.match(row))]
    assert [new for _, new in rows if not _exists(new)] == []
    assert [old for old, _ in rows if _exists(old)] == []
