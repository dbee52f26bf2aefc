"""The layout of the packages: one concept per file, and a small façade that is cheap to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import steersman

LONGEST = 650
SOURCES = [path for path in sorted(Path("src/steersman").rglob("*.py")) if not path.match("kinds/*_v*.py")]


def test_a_file_holds_one_concept() -> None:
    """A file may explain itself at length; one of more than 650 lines is two concepts. Generated kinds are exempt."""
    assert len(SOURCES) > 500
    assert [str(source) for source in SOURCES if len(source.read_text().splitlines()) > LONGEST] == []


def test_a_module_states_its_purpose() -> None:
    """The first line of a module is what a newcomer reads."""
    starts = {source: source.read_text().lstrip() for source in SOURCES}
    assert [str(source) for source, start in starts.items() if not start.startswith(('"""', "# "))] == []


#: Annotations with ``Any`` per 1,000 lines. ``object`` says that nothing is known; ``Any`` switches checks off.
MOST_ANY = 8.0


def test_any_is_rare() -> None:
    """Go's readers and the code generator are exempt: what they handle has no type before it is read."""
    lines = count = 0
    for source in Path("src/steersman").rglob("*.py"):
        if source.relative_to("src/steersman").parts[0] not in {"golang", "codegen"}:
            text = source.read_text()
            lines += len(text.splitlines())
            if "Any" in text:
                count += sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(text)))
    assert count * 1000 / lines < MOST_ANY


def test_the_facade_is_small_and_complete() -> None:
    """At most 32 names, each importable: what an operator file needs and nothing else."""
    assert len(steersman.__all__) <= 32
    assert list(steersman.__all__) == sorted(steersman.__all__)
    for name in steersman.__all__:
        assert getattr(steersman, name) is not None, name


def test_an_unknown_name_of_the_facade_is_an_ordinary_attribute_error() -> None:
    """Lazy import must not change the error of a typo."""
    with pytest.raises(AttributeError, match="Operater"):
        steersman.Operater  # noqa: B018 - the access is the test


def test_importing_the_facade_loads_nothing_heavy() -> None:
    """`import steersman` has a budget of 0.10 s: an event loop, TLS or a schema compiler would exceed it."""
    heavy = ["asyncio", "ssl", "msgspec", "yaml", "click", "rich", "cryptography", "prometheus_client", "re2"]
    script = f"import sys, steersman; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert answer.stdout.strip() == "[]"
