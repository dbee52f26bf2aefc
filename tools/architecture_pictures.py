"""Draws the two pictures of docs/architecture.md: ``python -m tools.architecture_pictures``.

The rooms come from the layers of ``.importlinter``, each with the first words of its package; the journeys from
``docs/journeys.toml``. So a picture cannot show what is not so: ``tests/architecture/test_pictures.py`` draws them
again, and looks up every file, function and import that they name.
"""

import ast
import configparser
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "steersman"
IMAGES = ROOT / "docs" / "images"

_WIDTH, _MARGIN, _GAP = 960, 16, 8
_LINE = 15
#: Rooms of one layer that stand beside each other.
_BESIDE = 3
#: Average width of a character in the small font.
_CHARACTER = 6.5
_STYLE = """
  svg { background: #fff; font: 12px system-ui, sans-serif; fill: #222; }
  .name { font: bold 13px ui-monospace, monospace; } .code { font: 12px ui-monospace, monospace; fill: #0550ae; }
  .title { font: bold 15px system-ui, sans-serif; } .box { fill: #f4f6f8; stroke: #c4ccd4; }
  .pure { fill: #eaf5ea; stroke: #a9cfa9; } .way { fill: none; stroke: #8a949e; stroke-width: 1.5; }
  .small { fill: #667; }
  @media (prefers-color-scheme: dark) {
    svg { background: #15181c; fill: #dde; } .code { fill: #79b8ff; } .box { fill: #20252b; stroke: #4a545e; }
    .pure { fill: #1c2b1f; stroke: #3f6a45; } .small { fill: #9aa; }
  }
"""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a journey: a function, what it does, and how the step before reaches it."""

    #: The path of a file below ``src/steersman`` and the qualified name of a function in it.
    file: str
    function: str
    says: str
    #: ``call``: the step before imports this one; ``callback``: this one imports the step before and was handed to it;
    #: ``wire``: bytes between two processes. Empty for the first step.
    by: str = ""

    @property
    def module(self) -> str:
        """The name of the module."""
        return "steersman." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True, slots=True)
class Journey:
    """What happens to one thing, in order."""

    title: str
    hops: tuple[Hop, ...]


def journeys() -> list[Journey]:
    """Read the journeys."""
    document = tomllib.loads((ROOT / "docs" / "journeys.toml").read_text(encoding="utf-8"))
    return [
        Journey(one["title"], tuple(Hop(*hop["at"].split(" "), hop["says"], hop.get("by", "")) for hop in one["hop"]))
        for one in document["journey"]
    ]


def layers(contract: str) -> list[list[str]]:
    """Return the layers of a contract of ``.importlinter``, highest first."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    lines = parser[f"importlinter:contract:{contract}"]["layers"].split("\n")
    return [[name.strip().strip("()") for name in line.split("|")] for line in lines if line.strip()]


def pure_modules() -> set[str]:
    """Return the packages that know no event loop, by the contract that checks it."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    return {line.strip() for line in parser["importlinter:contract:pure"]["source_modules"].split("\n")}


def purpose(path: Path) -> str:
    """Return what a package or module says of itself, up to the first colon or full stop."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = docstring.split("\n\n")[0].replace("\n", " ").replace("`", "")
    ends = [at for mark in (". ", ": ") if (at := first.find(mark)) > 0]
    return first[: min(ends, default=len(first))].rstrip(".:")


def rooms_picture() -> str:
    """Draw the packages in their layers, and the rooms of the API server beside them."""
    pure = pure_modules()
    left = _column("The packages: upper ones import lower ones", layers("layers"), "", pure, _MARGIN)
    right = _column("Inside apiserver/: a request walks down", layers("apiserver"), "apiserver/", pure, _WIDTH // 2 + 4)
    height = max(left.bottom, right.bottom) + _MARGIN + _LINE
    legend = f'<text class="small" x="{_MARGIN}" y="{height - 12}">green: pure, without an event loop</text>'
    return _svg(height, [*left.parts, *right.parts, legend])


@dataclass(frozen=True, slots=True)
class _Column:
    parts: list[str]
    bottom: int


def _column(title: str, rows: list[list[str]], folder: str, pure: set[str], x: int) -> _Column:
    parts = [f'<text class="title" x="{x}" y="28">{escape(title)}</text>']
    y, width = 42, _WIDTH // 2 - _MARGIN - 4
    for row in (names[start : start + _BESIDE] for names in rows for start in range(0, len(names), _BESIDE)):
        each = (width - _GAP * (len(row) - 1)) // len(row)
        texts = [_wrapped(purpose(SOURCE / folder / name), each) for name in row]
        height = 26 + _LINE * max(map(len, texts))
        for number, (name, text) in enumerate(zip(row, texts, strict=True)):
            left = x + number * (each + _GAP)
            style = "pure" if f"steersman.{folder.replace('/', '.')}{name}" in pure else "box"
            parts.append(f'<rect class="{style}" x="{left}" y="{y}" width="{each}" height="{height}" rx="4"/>')
            parts.append(f'<text class="name" x="{left + 8}" y="{y + 17}">{escape(name)}</text>')
            parts += [
                f'<text x="{left + 8}" y="{y + 33 + _LINE * line}">{escape(one)}</text>'
                for line, one in enumerate(text)
            ]
        y += height + _GAP
    return _Column(parts, y)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(int((width - 16) / _CHARACTER), 8))


def journeys_picture() -> str:
    """Draw the journeys beside each other, one box a step."""
    parts: list[str] = []
    bottom = 0
    found = journeys()
    width = (_WIDTH - _MARGIN * (len(found) + 1)) // len(found)
    for number, journey in enumerate(found):
        x = _MARGIN + number * (width + _MARGIN)
        parts.append(f'<text class="title" x="{x}" y="28">{escape(journey.title)}</text>')
        y = 42
        for hop in journey.hops:
            if hop.by:
                parts.append(f'<path class="way" d="M{x + 24} {y} v16 m-4 -5 l4 5 l4 -5"/>')
                parts.append(f'<text class="small" x="{x + 36}" y="{y + 12}">{escape(_WAYS[hop.by])}</text>')
                y += 20
            drawn, height = _hop(hop, x, y, width)
            parts += drawn
            y += height
        bottom = max(bottom, y)
    return _svg(bottom + _MARGIN, parts)


_WAYS = {"call": "calls", "callback": "calls back", "wire": "bytes on a connection"}


def _hop(hop: Hop, x: int, y: int, width: int) -> tuple[list[str], int]:
    text = _wrapped(hop.says, width)
    height = 40 + _LINE * len(text)
    lines = [
        f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>',
        f'<text class="name" x="{x + 8}" y="{y + 17}">{escape(hop.file)}</text>',
        f'<text class="code" x="{x + 8}" y="{y + 33}">{escape(hop.function)}</text>',
    ]
    lines += [
        f'<text x="{x + 8}" y="{y + 49 + _LINE * number}">{escape(one)}</text>' for number, one in enumerate(text)
    ]
    return lines, height


def _svg(height: int, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>", ""])


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield each picture with the file that it belongs in."""
    yield IMAGES / "rooms.svg", rooms_picture()
    yield IMAGES / "journeys.svg", journeys_picture()


def main() -> None:
    """Write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    for path, text in pictures():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
