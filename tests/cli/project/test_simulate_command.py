"""`steer simulate`: a scenario of the project under every fault, as text, as JSON and as a test."""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main

OPERATOR = '''
from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.simulation import always


class ShelfSpec(Model):
    """Nothing is wanted."""


class ShelfStatus(Status):
    done: bool = False


@custom_resource("shelves.example.com/v1")
class Shelf(Resource[ShelfSpec, ShelfStatus]):
    """Wants one ConfigMap."""


operator = Operator("shelves")


@operator.reconciler(Shelf, owns=[ConfigMap])
async def reconcile(shelf, ctx):
    if not shelf.status.done:
        await ctx.create(ConfigMap(meta(generate_name="book-")))
        shelf.status.done = True


async def creation(cluster):
    await cluster.client.create(Shelf(meta("a")))
    await cluster.settle()


@always
def no_shelf_without_a_name(cluster):
    assert all(shelf.name for shelf in cluster.list(Shelf))
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder with an operator that forgets what it created."""
    (tmp_path / "shelves.py").write_text(OPERATOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("shelves", None)


def run(*arguments: str) -> Result:
    """Run `steer simulate` with an operator and a scenario."""
    return CliRunner().invoke(main, ["simulate", "shelves:creation", "--operator", "shelves:operator", *arguments])


@pytest.mark.usefixtures("project")
def test_a_failure_is_explained_and_the_exit_code_says_so() -> None:
    """CI reads the code, a person the text."""
    result = run("--faults", "F1,stall")
    assert result.exit_code == 1
    assert "creation: 2 of 6 plans failed" in result.stdout
    assert "crash-after@write:1" in result.stdout
    assert "crash-after          F1        2      1" in result.stdout
    assert "not asked for: crash-at-event" in result.stdout
    assert "6/6 plans, 2 failed" in result.stderr


@pytest.mark.usefixtures("project")
def test_what_passes_ends_with_zero() -> None:
    """The rest of the faults do not matter to this operator."""
    result = run("--plan", "clock-ahead@write:1", "--twice")
    assert result.exit_code == 0, result.output
    assert "creation: 1 plans passed" in result.stdout


def test_a_failure_becomes_a_test_that_fails_until_it_is_fixed(project: Path) -> None:
    """What was found once is never lost again."""
    result = run("--faults", "F1", "--save-test", "test_found.py", "--json", "report.json", "--html", "page.html")
    assert "wrote test_found.py" in result.stdout
    told = json.loads((project / "report.json").read_text())
    assert told["failures"][0]["plan"] == "crash-before@write:2"
    page = (project / "page.html").read_text()
    assert "<h3>crash-before@write:2</h3>" in page
    assert "+    &quot;name&quot;: &quot;book-*&quot;" in page
    source = (project / "test_found.py").read_text()
    assert "plans=['crash-before@write:2'], seed=1" in source
    with pytest.raises(AssertionError, match="crash-before@write:2"):
        _saved_test(source)()
    fixed = OPERATOR.replace("if not shelf.status.done:", "if not ctx.owned(ConfigMap):").replace(
        "        shelf.status.done = True", "    shelf.status.done = True"
    )
    (project / "shelves.py").write_text(fixed)
    del sys.modules["shelves"]
    invalidate_caches()
    _saved_test(source)()


def _saved_test(source: str) -> Callable[[], None]:
    """Import a saved test as pytest does."""
    names: dict[str, Callable[[], None]] = {}
    exec(compile(source, "test_found.py", "exec"), names)  # noqa: S102 - what importing a module is
    return names["test_creation_survives_crash_before_write_2"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "shelves", "--operator", "shelves:operator"], "is not MODULE:SCENARIO"),
        (["simulate", "shelves:nothing", "--operator", "shelves:operator"], "no function 'nothing'"),
        (["simulate", "nowhere:creation", "--operator", "shelves:operator"], "cannot import 'nowhere'"),
        (["simulate", "shelves:creation", "--operator", "shelves:operator", "--faults", "fire"], "unknown faults fire"),
        (["simulate", "shelves:creation", "--operator", "shelves:operator", "--plan", "x"], "'x' is not a fault"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: list[str], message: str) -> None:
    """A typo gets a sentence and exit code 2, not a stack."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output
