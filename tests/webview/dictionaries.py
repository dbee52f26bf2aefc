"""The texts of the page, read from its dictionaries."""

import re
from pathlib import Path

STATIC = Path("src/steersman/webview/static")
_ENTRY = re.compile(r'^ {2}"([^"]+)": "(.*)",$', re.MULTILINE)


def entries(language: str) -> list[tuple[str, str]]:
    """Return every key with its text, in order; a duplicate key occurs twice."""
    return _ENTRY.findall((STATIC / "words" / f"{language}.js").read_text(encoding="utf-8"))


def words(language: str) -> dict[str, str]:
    """Return the dictionary of a language."""
    return dict(entries(language))
