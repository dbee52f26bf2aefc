"""The sections of the site, as ``docs/site.toml`` lists them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the sidebar with its pages, as paths from the root of the repository."""

    title: str
    pages: tuple[str, ...]


def sections(root: Path = ROOT) -> tuple[Section, ...]:
    """Return the sections in their order."""
    document = tomllib.loads((root / "docs" / "site.toml").read_text(encoding="utf-8"))
    return tuple(Section(one["title"], tuple(one["pages"])) for one in document["section"])
