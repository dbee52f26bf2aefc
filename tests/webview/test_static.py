"""The files of the page: small, complete in both languages, and from nowhere else."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from steersman.webview.files import static_files

STATIC = Path("src/steersman/webview/static")
VENDOR = STATIC / "vendor"
#: Bytes of all files together, compressed.
BUDGET = 150 * 1024
_ENTRY = re.compile(r'^ {2}(?:"([^"]+)"|(\w+)):', re.MULTILINE)
_USED = re.compile(r"""\bt\(\s*["'`]([\w.]+)["'`]""")


def _dictionary(language: str) -> list[str]:
    text = (STATIC / "words" / f"{language}.js").read_text(encoding="utf-8")
    return [quoted or plain for quoted, plain in _ENTRY.findall(text)]


def test_the_page_stays_small() -> None:
    """It is part of every wheel, and of every image of an operator."""
    sizes = {name: len(gzip.compress(file.body)) for name, file in static_files().items()}
    assert sum(sizes.values()) <= BUDGET, sizes


def test_both_languages_say_everything_once() -> None:
    """A missing word would show its key."""
    english, chinese = _dictionary("en"), _dictionary("zh")
    assert len(english) > 100
    assert len(set(english)) == len(english)
    assert english == chinese


def test_every_word_that_is_used_is_in_the_dictionaries() -> None:
    """A key with a typo is found here, not by a reader."""
    known = set(_dictionary("en"))
    used = {key for path in STATIC.rglob("*.js") for key in _USED.findall(path.read_text(encoding="utf-8"))}
    assert len(used) > 50
    assert used - known == set()


def test_vendored_libraries_are_those_that_were_published() -> None:
    """Nobody edits them: each is byte for byte the file of its release."""
    listed = dict(reversed(line.split()) for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    assert listed == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(VENDOR.iterdir())
        if path.name not in {"SHA256SUMS", "README.md"}
    }


@pytest.mark.parametrize("path", sorted(set(STATIC.rglob("*")) - set(VENDOR.rglob("*"))), ids=str)
def test_no_file_needs_another_machine_or_inline_code(path: Path) -> None:
    """The content security policy would forbid it, and nothing may leave the machine."""
    if path.is_dir():
        return
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://", text)
    assert not re.search(r"\b(?:eval|innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML)\b", text)
    if path.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script>|javascript:", text)
