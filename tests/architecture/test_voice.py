"""One plain voice: docstrings and comments use the words that contributors search for.

A docstring says Return, Yield, Raise, Validate; not Give, Tell or Complain.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path("src/steersman")
#: What else contributors read and copy.
FOLDERS = ("bench", "examples", "tests", "tools")
#: Verbs with which a docstring does not open, because the trade has a better one.
OPENINGS = frozenset({"Complain", "Give", "Insist", "Let", "Look", "Refuse", "Say", "See", "Tell"})
#: Words of people and times that are vague or old; the caller, the client and the operator have names.
WORDS = re.compile(r"\b(anew|by and by|for ever|nobody|somebody|to and fro|whoever|whomever)\b", re.IGNORECASE)
#: The same for names of functions, and verbs with a better word: reported, rejected, validated.
NAMED = re.compile(r"(?:^|_)(anew|for_ever|judged|nobody|refused|somebody|told|whoever)(?:_|$)")
#: Metaphors that were renamed to words of the trade.
NAMES = frozenset(
    {"Board", "Chores", "Doom", "Face", "Front", "Furnishing", "Fuse", "Hand", "Ledger", "Mortal", "Nursery"}
    | {"Surroundings", "Tally", "Tape", "Verdict", "Workshop"}
)


def _packages() -> list[str]:
    found = (path.name for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py")
    return [*sorted(found), *FOLDERS]


def _sources(package: str) -> Iterator[Path]:
    place = Path(package) if package in FOLDERS else ROOT / package
    found = [place] if place.suffix else sorted(place.rglob("*.py"))
    yield from (
        path for path in found if not path.match("kinds/*_v*.py") and path != Path(__file__).relative_to(Path.cwd())
    )


@cache
def _nodes(source: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source.read_text())))


def _documented(source: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and docstring of every function and class."""
    for node in _nodes(source):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield node.lineno, text


def _prose(source: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of every docstring and comment; in our own code of every message, too."""
    for node in _nodes(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and source.is_relative_to(ROOT):
            yield node.lineno, node.value
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _old_openings(package: str) -> list[str]:
    return [
        f"{source}:{line}: {text.splitlines()[0]}"
        for source in _sources(package)
        for line, text in _documented(source)
        if text.split()[0] in OPENINGS
    ]


def _old_words(package: str) -> list[str]:
    return [
        f"{source}:{line}: {match[0]}"
        for source in _sources(package)
        for line, text in _prose(source)
        for match in WORDS.finditer(text)
    ]


def _old_names(package: str) -> list[str]:
    return [
        f"{source}:{node.lineno}: {node.name}"
        for source in _sources(package)
        for node in _nodes(source)
        if (isinstance(node, ast.ClassDef) and node.name.lstrip("_") in NAMES)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and NAMED.search(node.name))
    ]


@pytest.mark.parametrize("package", _packages())
def test_a_package_speaks_plainly(package: str) -> None:
    """A contributor greps for return, reject and validate; a text that says it otherwise is not found."""
    found = [*_old_openings(package), *_old_words(package), *_old_names(package)]
    assert found == [], "\n".join(found)
