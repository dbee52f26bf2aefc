"""The files of the page: small, complete in both languages, and self-contained."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from steersman.history.records import CauseType, KeyPhase, Result, Verb
from steersman.webview.documents import CONCERNS
from steersman.webview.files import static_files
from steersman.webview.kinds import CONSTRAINTS
from tests.webview.dictionaries import STATIC, entries, words

VENDOR = STATIC / "vendor"
#: Bytes of all files together, compressed.
BUDGET = 150 * 1024
_USED = re.compile(r"""\bt\(\s*["'`]([\w.]+)["'`]""")


def test_the_page_stays_small() -> None:
    """It is part of every wheel, and of every image of an operator."""
    sizes = {name: len(gzip.compress(file.body)) for name, file in static_files().items()}
    assert sum(sizes.values()) <= BUDGET, sizes


def test_both_languages_have_every_key_once() -> None:
    """A missing text would show its key."""
    english, chinese = entries("en"), entries("zh")
    assert len(english) > 100
    assert len(words("en")) == len(english)
    assert [key for key, _ in english] == [key for key, _ in chinese]


def test_both_languages_have_the_same_placeholders() -> None:
    """A translation without a placeholder loses a number or a name."""
    places = re.compile(r"\{\w+\}")
    different = {
        key
        for key, text in words("en").items()
        if sorted(places.findall(text)) != sorted(places.findall(words("zh")[key]))
    }
    assert different == set()


def test_every_key_that_is_used_is_in_the_dictionaries() -> None:
    """A key with a typo is found here, not by a reader."""
    known = set(words("en"))
    used = {key for path in STATIC.rglob("*.js") for key in _USED.findall(path.read_text(encoding="utf-8"))}
    assert len(used) > 50
    assert used - known == set()


@pytest.mark.parametrize(
    ("prefix", "values"),
    [
        ("phase", KeyPhase),
        ("result", Result),
        ("verb", Verb),
        ("cause", CauseType),
        ("concern", CONCERNS),
        ("limit", CONSTRAINTS),
    ],
)
def test_every_value_of_the_history_has_a_word(prefix: str, values: list[str]) -> None:
    """Keys that are composed are not found by a search for typos."""
    known = set(words("en"))
    assert [f"{prefix}.{value}" for value in values if f"{prefix}.{value}" not in known] == []


def test_the_wheel_has_every_file_of_the_page() -> None:
    """An installed operator serves the page without the source tree."""
    packed = {file.distribution_path for file in WheelBuilder(".").recurse_included_files()}
    static = {path.relative_to("src").as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert len(static) > 20
    assert static - packed == set()


def test_vendored_libraries_are_unchanged() -> None:
    """Each is byte for byte the file of its release."""
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
