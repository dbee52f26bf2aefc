"""Translated pages: the code is that of their source, the links lead somewhere, and outdated pages are named."""

import re

import pytest

from tools.translations import ROOT, Translation, blocks_of, hash_of, translations

PAGES = list(translations())
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def name_of(page: Translation) -> str:
    """Return the name of a page for the report of a test."""
    return page.path.name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_of_a_translation_is_that_of_its_source(page: Translation) -> None:
    """Code is never translated: readers of both languages type the same. `python -m tools.translations` copies it."""
    assert blocks_of(page.text) == blocks_of(page.source_text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_translation_exist(page: Translation) -> None:
    """A translation is one folder deeper than its source, so links cannot be copied."""
    targets = _LINK.findall(page.text)
    assert bool(targets) == bool(_LINK.findall(page.source_text))
    assert [target for target in targets if not (page.path.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_translation_is_not_older_than_its_source(page: Translation) -> None:
    """Named in the report, but not an error: the author of a changed guide need not know Chinese."""
    if page.is_outdated:
        pytest.xfail(f"{page.path.relative_to(ROOT)} is older than {page.source}")


def test_a_changed_source_makes_a_translation_outdated() -> None:
    """The hash is of the whole text: a changed sentence counts as much as changed code."""
    page = PAGES[0]
    current = Translation(page.path, page.text, page.source, hash_of(page.source_text))
    assert not current.is_outdated
    assert Translation(page.path, page.text, page.source, hash_of(page.source_text + "More.")).is_outdated


def test_a_translation_without_a_block_of_its_source_is_rejected() -> None:
    """Blocks are copied in order, so a missing one would shift all others."""
    page = PAGES[0]
    shorter = page.text.replace(blocks_of(page.text)[0], "")
    with pytest.raises(ValueError, match=f"{page.path.name} has "):
        Translation(page.path, shorter, page.source, page.recorded).with_blocks_of_source()
