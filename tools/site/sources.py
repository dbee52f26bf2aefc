"""The folder that Sphinx reads: pages at the paths that they have in the repository, so that their links hold.

Files that a page links to are copied, too; a folder that it links to becomes the list of its files' names, because a
static site shows no folders.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.site.sections import ROOT, Section

#: The page that the site begins with.
START = "README.md"
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)")


def collect(folder: Path, sections: Iterable[Section], generated: Mapping[str, str]) -> list[str]:
    """Write every page into a folder and return their paths; the first one lists the others."""
    sections = list(sections)
    paths = [START, *(page for section in sections for page in section.pages)]
    for path in paths:
        text = generated[path] if path in generated else (ROOT / path).read_text(encoding="utf-8")
        if path == START:
            text += "\n".join(("", *map(_contents, sections)))
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_with_files(text, path, folder, {*paths}), encoding="utf-8")
    for path in sorted({*generated} - {*paths}):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(generated[path], encoding="utf-8")
    return [*paths, *sorted({*generated} - {*paths})]


def _contents(section: Section) -> str:
    """Return the directive that puts a section into the sidebar."""
    pages = "\n".join(page.removesuffix(".md") for page in section.pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {section.title}\n\n{pages}\n```\n"


def _with_files(text: str, page: str, folder: Path, pages: set[str]) -> str:
    """Copy the files that a page links to; replace links to what the site does not have by their text."""
    for target in sorted({*_linked_files(text)}):
        source = (ROOT / page).parent / target
        path = source.resolve().relative_to(ROOT).as_posix() if source.exists() else target
        if path in pages or not source.exists():
            continue
        if source.is_dir() or source.suffix == ".md":
            text = re.sub(rf"\[([^]]*)\]\({re.escape(target)}(?:#[^)]*)?\)", rf"\1 (`{path}`)", text)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / path)
    return text


def _linked_files(text: str) -> Iterator[str]:
    outside_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from _LINK.findall(outside_code)
