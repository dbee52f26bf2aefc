"""Every public name has one documented home, at most one level below `steersman`, and guides import from there only."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path("src/steersman")
PACKAGES = sorted(
    ".".join(path.parent.relative_to("src").parts)
    for path in ROOT.rglob("__init__.py")
    if "lazy_names(" in path.read_text()
)
#: Files that authors read and copy.
TEXTS = [
    path
    for folder in ("docs", "examples", "src/steersman/scaffold/templates", "README.md")
    for path in sorted([Path(folder)] if folder.endswith(".md") else Path(folder).rglob("*"))
    if path.suffix in {".md", ".py", ".jinja"}
]
_IMPORT = re.compile(r"^[ \t]*from (steersman[\w.]*) import (?:\(([^)]*)\)|([^\n]*))", re.MULTILINE)
_NOT_NAMES = re.compile(r"{%.*?%}|#[^\n]*| as \w+")


def imported_for_type_checkers(package: str) -> dict[str, str]:
    """Return the home of each name that a package imports for type checkers."""
    tree = ast.parse(Path("src", *package.split("."), "__init__.py").read_text())
    (block,) = (statement for statement in tree.body if isinstance(statement, ast.If))
    return {
        alias.name: statement.module or ""
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def test_packages_for_authors_are_facades() -> None:
    """The list below must not become empty unnoticed."""
    assert {"steersman", "steersman.controller", "steersman.objects", "steersman.schema", "steersman.testing"} <= {
        *PACKAGES
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_a_facade_has_the_same_names_for_python_and_type_checkers(package: str) -> None:
    """Its names are written three times: for type checkers, for star imports, and with the module that is loaded."""
    module = import_module(package)
    assert sorted(module.__all__) == dir(module)
    homes = imported_for_type_checkers(package)
    assert {*homes} == {*module.__all__} - {"__version__"}
    for name, home in homes.items():
        assert getattr(module, name) is getattr(import_module(home), name), name


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_name_is_not_the_name_of_a_module(package: str) -> None:
    """Importing the module would replace the public name."""
    folder = Path("src", *package.split("."))
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert modules.isdisjoint(import_module(package).__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package: str) -> None:
    """Users can only rely on a location that is documented."""
    row = next(line for line in Path("docs/reference.md").read_text().splitlines() if f"| `{package}`" in line)
    missing = [name for name in import_module(package).__all__ if f"`{name}`" not in row]
    assert not missing


@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_guides_examples_and_templates_import_from_documented_homes(text: Path) -> None:
    """Authors copy what they see; a deep path that they depend on cannot move."""
    reference = Path("docs/reference.md").read_text()
    for home, many, few in _IMPORT.findall(text.read_text()):
        assert home.count(".") <= 1 or home.startswith("steersman.kinds."), f"{home} is not a public home"
        assert f"`{home}`" in reference or home.startswith("steersman.kinds."), f"{home} is not in docs/reference.md"
        public = getattr(import_module(home), "__all__", None)
        for name in _NOT_NAMES.sub("", many or few).replace("\n", ",").split(","):
            assert not name.strip() or public is None or name.strip() in public, f"{name.strip()} of {home}"


def test_a_typo_is_an_ordinary_error_that_suggests_the_name() -> None:
    """Lazy names must not change the error of a typo."""
    script = "from steersman.testing import Clutser"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter
    assert "ImportError: cannot import name 'Clutser' from 'steersman.testing'" in answer.stderr
    with pytest.raises(AttributeError, match="module 'steersman' has no attribute 'Operater'"):
        import_module("steersman").Operater  # noqa: B018 - the access is the test
