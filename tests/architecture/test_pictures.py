"""The pictures of the architecture match the code: files, functions and imports exist as drawn."""

import ast
from collections.abc import Iterator
from itertools import pairwise

import grimp
import pytest

from tools.architecture_pictures import SOURCE, Hop, journeys, pictures

_HOPS = [hop for journey in journeys() for hop in journey.hops]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """Read the imports between all modules."""
    return grimp.build_graph("steersman", cache_dir=None)


@pytest.mark.parametrize("hop", _HOPS, ids=lambda hop: f"{hop.file}:{hop.function}")
def test_every_step_of_a_journey_exists(hop: Hop) -> None:
    """A newcomer opens the file that a picture names, and searches for the function."""
    assert hop.function in set(_functions(hop.file)), f"{hop.file} has no function {hop.function}"


def _functions(file: str) -> Iterator[str]:
    for node in ast.parse((SOURCE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (
                f"{node.name}.{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            )


def test_the_steps_follow_the_imports(imports: grimp.ImportGraph) -> None:
    """A call needs an import of the next step, a callback one of the step before: the arrows are not decoration."""
    wrong = []
    for journey in journeys():
        assert journey.hops[0].by == ""
        for before, after in pairwise(journey.hops):
            ways = {"call": (before, after), "callback": (after, before)}
            importer, imported = ways[after.by]
            if imports.find_shortest_chain(importer.module, imported.module) is None:
                wrong.append(f"{importer.module} does not import {imported.module} ({after.by} of {after.function})")
    assert wrong == []


def test_the_pictures_are_drawn_from_the_current_code() -> None:
    """A picture that was not generated again after a change shows the old structure."""
    stale = [path.name for path, drawn in pictures() if path.read_text(encoding="utf-8") != drawn]
    assert stale == [], "draw them again: make pictures"
