"""What is said about the examples is so."""

import re
from pathlib import Path

import pytest

from tools.example_lines import code_lines, example_lines, examples

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples" / "README.md").read_text()
COUNTED = re.findall(r"^\| (\w+) \| (\d+)[^|]*\|", README, re.MULTILINE)
#: What the README of a new project says.
BEGINNING = "A Kubernetes operator, written with Steersman."
SOURCE = '''"""Words
more words."""

x = 1  # one
# nothing
def f():
    """Words."""
    return x
'''


def test_a_line_of_code_is_no_comment_no_docstring_and_not_blank() -> None:
    """What is counted must be told by what it leaves out."""
    assert code_lines(SOURCE) == 3


@pytest.mark.parametrize(("name", "lines"), COUNTED)
def test_the_lines_of_an_example_are_as_many_as_its_readme_says(name: str, lines: str) -> None:
    """A number that nobody checks is soon a wrong one."""
    assert example_lines(name) == int(lines)


@pytest.mark.parametrize(("example", "program"), [("samplecontroller", "foo"), ("custompod", "custompod")])
def test_the_operator_in_another_framework_is_as_long_as_the_readme_says(example: str, program: str) -> None:
    """The comparison counts both sides alike."""
    [lines] = re.findall(rf"^\| {example} \|.*\| (\d+) \|$", README, re.MULTILINE)
    assert code_lines((ROOT / "bench" / "kopf" / f"{program}.py").read_text()) == int(lines)


@pytest.mark.parametrize("name", re.findall(r"^\| \[(\w+)\]", README, re.MULTILINE))
def test_what_is_in_the_list_is_a_whole_project(name: str) -> None:
    """Each has what `steer init` gives, and tells what it is for."""
    folder = ROOT / "examples" / name
    for expected in ("README.md", "Makefile", "Dockerfile", "pyproject.toml", "samples", "tests", f"{name}/main.py"):
        assert (folder / expected).exists(), expected
    assert BEGINNING not in (folder / "README.md").read_text()


@pytest.mark.parametrize("name", examples())
def test_an_example_that_tells_what_it_is_for_is_in_the_list(name: str) -> None:
    """Who reads the list finds all of them; a project that has just begun is none yet."""
    readme = ROOT / "examples" / name / "README.md"
    told = readme.read_text() if readme.exists() else BEGINNING
    assert BEGINNING in told or f"[{name}]({name}/README.md)" in README
