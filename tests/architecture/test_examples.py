"""The statements of the READMEs about the examples are true."""

import re
from pathlib import Path

import pytest

from bench.kopf.replay import with_kopf
from steersman.testing import console_blocks
from tools.example_lines import (
    KOPF,
    KOPF_PROGRAMS,
    code_lines,
    definition_lines,
    example_lines,
    go_lines,
    kopf_lines,
)
from tools.examples import EXAMPLES, examples, generated_files

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples" / "README.md").read_text()
ROW = (
    r"^\| (\w+) \| (\d+)(?:, of these [^|]*?(\d+))? \| [^|]+ \| [^|]+ \| (\d+)(?:, of these [^|]*?(\d+))? \| (\d+) \|$"
)
GENERATED = generated_files()
COUNTED = {row[0]: row[1:] for row in re.findall(ROW, README, re.MULTILINE)}
#: Parts of an example that are counted separately, and their counterparts with kopf.
PARTS = {
    "project": (("api/project_v1alpha1", "client"), ("project_client",)),
    "network": (("neutron",), ()),
    "kubewatch": (("receivers",), ()),
}
#: The part of the sentence in the README of a new project.
BEGINNING = "A Kubernetes operator, written with Steersman."
SOURCE = '''"""Words
more words."""

x = 1  # one
# nothing
def f():
    """Words."""
    return x
'''


def test_a_line_of_code_is_not_blank_a_comment_or_a_docstring() -> None:
    """The comparison must count the same kind of line on both sides."""
    assert code_lines(SOURCE) == 3


def test_every_operator_that_exists_with_kopf_too_is_in_the_table() -> None:
    """A row in another format would not be checked."""
    assert COUNTED.keys() == KOPF_PROGRAMS.keys()


@pytest.mark.parametrize("name", KOPF_PROGRAMS)
def test_both_sides_are_as_long_as_the_readme_says(name: str) -> None:
    """An unchecked number soon becomes wrong; the comparison counts both sides alike."""
    ours, _, theirs, _, definitions = COUNTED[name]
    assert (example_lines(name), kopf_lines(name), definition_lines(name)) == (int(ours), int(theirs), int(definitions))


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_an_example_are_as_long_as_the_readme_says(name: str) -> None:
    """Lines that exist only to try an example out, or that are compared separately, have a number of their own."""
    _, ours, _, theirs, _ = COUNTED[name]
    parts = [EXAMPLES / name / name / f"{module}.py" for module in PARTS[name][0]]
    counterparts = [KOPF / f"{module}.py" for module in PARTS[name][1]]
    assert sum(code_lines(path.read_text()) for path in parts) == int(ours)
    assert sum(code_lines(path.read_text()) for path in counterparts) == int(theirs or 0)


def test_the_go_operator_is_as_long_as_the_readme_says() -> None:
    """Lines written for the comparison are counted like all others."""
    [(written, generated)] = re.findall(r"\| (\d+) \(controller-runtime\) \| (\d+) \|", README)
    assert go_lines("network/controller.go", "network/provider.go", "network/api/types.go") == int(written)
    assert go_lines("network/main.go", "network/api/zz_generated.deepcopy.go") == int(generated)


@pytest.mark.parametrize("name", KOPF_PROGRAMS)
def test_a_readme_can_be_replayed_with_kopf(name: str) -> None:
    """A change of a README must keep the comparison with kopf possible, which CI does not run."""
    commands = with_kopf("".join(console_blocks((EXAMPLES / name / "README.md").read_text())), name)
    assert "$ kopf run" in commands
    assert "$ steer run" not in commands


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_shared_files_are_as_steer_init_writes_them(path: Path) -> None:
    """An example shows what a project consists of; after a change to a template run python -m tools.examples."""
    assert path.read_text(encoding="utf-8") == GENERATED[path]


@pytest.mark.parametrize("name", examples())
def test_a_makefile_contains_only_what_differs(name: str) -> None:
    """The targets are in one file, and every example has all of them."""
    lines = (EXAMPLES / name / "Makefile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [f"IMG ?= {name}:latest", "include ../project.mk"]


@pytest.mark.parametrize("name", re.findall(r"^\| \[(\w+)\]", README, re.MULTILINE))
def test_every_listed_example_is_a_complete_project(name: str) -> None:
    """Each has the files of `steer init`, and a README that says what it is for."""
    folder = ROOT / "examples" / name
    for expected in ("README.md", "Makefile", "Dockerfile", "pyproject.toml", "samples", "tests", f"{name}/main.py"):
        assert (folder / expected).exists(), expected
    assert BEGINNING not in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", examples())
def test_every_example_with_a_readme_is_in_the_list(name: str) -> None:
    """Readers of the list find all of them; an unfinished project is not listed yet."""
    readme = ROOT / "examples" / name / "README.md"
    told = readme.read_text() if readme.exists() else BEGINNING
    assert BEGINNING in told or f"[{name}]({name}/README.md)" in README
