"""What the site has beside the pages of Sphinx: their Markdown, a list for language models, and the versions."""

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from steersman.version import __version__
from tools.site.sections import ROOT, sections
from tools.site.sources import START

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^(`{3,})\{.*?^\1\n?", re.MULTILINE | re.DOTALL)


def add_pages(source: Path, target: Path, paths: Iterable[str]) -> None:
    """Write the Markdown of each page beside it, ``llms.txt``, and ``index.html``, which servers look for."""
    for path in paths:
        original = ROOT / path
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original if original.exists() else source / path, target / path)
    (target / "llms.txt").write_text(overview(source), encoding="utf-8")
    shutil.copyfile((target / START).with_suffix(".html"), target / "index.html")


def overview(source: Path) -> str:
    """Return the pages of the site with a sentence about each, in the form of llmstxt.org."""
    parts = [f"# Steersman {__version__}\n\n> {_summary((source / START).read_text(encoding='utf-8'))}\n"]
    for section in sections():
        parts.append(f"## {section.title}\n")
        for path in section.pages:
            text = (source / path).read_text(encoding="utf-8")
            title = found[1] if (found := _TITLE.search(text)) else path
            parts.append(f"- [{title}]({path}): {_summary(text)}")
        parts.append("")
    return "\n".join(parts)


def _summary(text: str) -> str:
    """Return the first sentence of a page."""
    prose = _FENCE.sub("", text.split("\n\n", 1)[1])
    first = next((block for block in prose.split("\n\n") if block.strip() and block.lstrip()[0] not in "#|`![<"), "")
    flat = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return re.split(r"(?<=[.:])\s", flat, maxsplit=1)[0].rstrip(":")


def add_versions(out: Path, newest: str) -> None:
    """List the versions in a folder, and let its first page lead to the newest."""
    versions = sorted((path.name for path in out.iterdir() if (path / "index.html").exists()), reverse=True)
    (out / "versions.json").write_text(json.dumps(versions) + "\n", encoding="utf-8")
    (out / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Steersman</title>'
        f'<meta http-equiv="refresh" content="0; url={newest}/index.html">'
        f'<a href="{newest}/index.html">Steersman</a>\n',
        encoding="utf-8",
    )
