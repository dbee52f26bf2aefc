"""One plain voice: docstrings and comments use the words that contributors search for.

A docstring says Return, Yield, Raise, Validate; not Give, Tell or Complain.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path("src/steersman")
#: What else contributors read and copy.
FOLDERS = ("bench", "examples", "tests", "tools")
#: Verbs with which a docstring does not open, because the trade has a better one.
OPENINGS = frozenset({"Complain", "Give", "Insist", "Let", "Look", "Refuse", "Say", "See", "Tell"})
#: Words of people and times that are vague or old; the caller, the client and the operator have names.
WORDS = re.compile(
    r"\b(afresh|anew|anybody|by and by|everybody|for ever|nobody|somebody|to and fro|whoever|whomever)\b", re.IGNORECASE
)
#: The same for names of functions, and verbs with a better word: reported, rejected, validated.
NAMED = re.compile(r"(?:^|_)(anew|for_ever|judged|nobody|refused|somebody|told|whoever)(?:_|$)")
#: Metaphors that were renamed to words of the trade.
NAMES = frozenset(
    {"Board", "Chores", "Doom", "Face", "Front", "Furnishing", "Fuse", "Hand", "Ledger", "Mortal", "Nursery"}
    | {"Surroundings", "Tally", "Tape", "Verdict", "Workshop"}
)
#: What has a docstring.
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _packages() -> list[str]:
    found = (path.name for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py")
    return [*sorted(found), *FOLDERS]


def _sources(package: str) -> Iterator[Path]:
    place = Path(package) if package in FOLDERS else ROOT / package
    found = [place] if place.suffix else sorted(place.rglob("*.py"))
    yield from (
        path for path in found if not path.match("kinds/*_v*.py") and path != Path(__file__).relative_to(Path.cwd())
    )


def _faults(source: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of all old openings, words and names of a file."""
    text = source.read_text()
    is_ours = source.is_relative_to(ROOT)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant):
            if is_ours and isinstance(node.value, str):
                yield from _old_words(node.lineno, node.value)
        elif isinstance(node, Documented):
            yield from _old_docstring(node)
            yield from _old_names(node)
    if WORDS.search(text):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield from _old_words(token.start[0], token.string)


def _old_docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[int, str]]:
    line, text = getattr(node, "lineno", 1), ast.get_docstring(node)
    if text:
        yield from _old_words(line, text)
        if text.split()[0] in OPENINGS and not isinstance(node, ast.Module):
            yield line, text.splitlines()[0]


def _old_words(line: int, text: str) -> Iterator[tuple[int, str]]:
    return ((line, match[0]) for match in WORDS.finditer(text))


def _old_names(node: ast.AST) -> Iterator[tuple[int, str]]:
    if (isinstance(node, ast.ClassDef) and node.name.lstrip("_") in NAMES) or (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and NAMED.search(node.name)
    ):
        yield node.lineno, node.name


@pytest.mark.parametrize("package", _packages())
def test_a_package_speaks_plainly(package: str) -> None:
    """A contributor greps for return, reject and validate; a text that says it otherwise is not found."""
    found = [f"{source}:{line}: {text}" for source in _sources(package) for line, text in _faults(source)]
    assert found == [], "\n".join(found)
