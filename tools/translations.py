"""Keep the translated pages in ``docs/zh`` beside their sources: ``python -m tools.translations``.

Code is never translated, so every code block of a translation is that of its source. The first line of a translation
records the source and a hash of its text. If the hash differs, the source has changed since the page was translated.

Without arguments, the code blocks of all translations are updated from their sources. ``--translated PAGE…`` does that
and records that these pages are translations of the current text. ``--check`` writes nothing, names the outdated pages,
and fails if there are any.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "zh"
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"\A<!-- (?P<source>\S+) (?P<hash>[0-9a-f]{16}) -->\n")


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated page and the page that it was made from."""

    path: Path
    text: str
    source: str
    recorded: str

    @property
    def source_text(self) -> str:
        """The current text of the source."""
        return (ROOT / self.source).read_text(encoding="utf-8")

    @property
    def is_outdated(self) -> bool:
        """Whether the source has changed since the page was translated."""
        return self.recorded != hash_of(self.source_text)

    def with_blocks_of_source(self) -> str:
        """Return the text with the code blocks of the source; raise ``ValueError`` if their numbers differ."""
        blocks = blocks_of(self.source_text)
        if len(blocks) != len(blocks_of(self.text)):
            raise ValueError(
                f"{self.path.name} has {len(blocks_of(self.text))} code blocks, {self.source} {len(blocks)}"
            )
        following = iter(blocks)
        return _BLOCK.sub(lambda _: next(following), self.text)


def blocks_of(text: str) -> list[str]:
    """Return the code blocks of a page, with their fences."""
    return _BLOCK.findall(text)


def hash_of(text: str) -> str:
    """Return the hash by which a translation identifies the text of its source."""
    return sha256(text.encode()).hexdigest()[:16]


def translations() -> Iterator[Translation]:
    """Yield every translated page; raise ``ValueError`` for one that does not name its source."""
    for path in sorted(FOLDER.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(f"{path}: the first line must be <!-- SOURCE HASH -->, such as <!-- docs/testing.md … -->")
        yield Translation(path, text, head["source"], head["hash"])


def main() -> None:
    """Update the code blocks, or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--translated", metavar="PAGE", nargs="+", default=[])
    options = parser.parse_args()
    if options.check:
        outdated = [
            f"{one.path.relative_to(ROOT)} is older than {one.source}" for one in translations() if one.is_outdated
        ]
        sys.exit("\n".join(outdated) or None)
    for one in translations():
        text = one.with_blocks_of_source()
        if one.path.name in options.translated:
            text = _HEAD.sub(f"<!-- {one.source} {hash_of(one.source_text)} -->\n", text)
        one.path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
