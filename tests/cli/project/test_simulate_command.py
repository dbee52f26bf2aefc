"""`steer simulate`: a scenario of the project under every fault, as text, as JSON and as a test."""

import json
import subprocess
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


def make():
    made = Operator("made")

    @made.reconciler(Shelf, owns=[ConfigMap])
    async def reconcile(shelf, ctx):
        if not shelf.status.done:
            await ctx.create(ConfigMap(meta(generate_name="book-")))
            shelf.status.done = True

    return made


async def creation(cluster):
    await cluster.client.create(Shelf(meta("a")))
    await cluster.settle()


@always
def no_shelf_without_a_name(cluster):
    assert all(shelf.name for shelf in cluster.list(Shelf))
'''

SCENARIOS = """
from shelves import Shelf
from steersman import meta


async def creation(cluster):
    await cluster.client.create(Shelf(meta("a")))
    await cluster.settle()
"""

GROWING = """
from steersman import Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap


class HedgeSpec(Model):
    height: int = 0


@custom_resource("growing.example.com/v1")
class Hedge(Resource[HedgeSpec, Status]):
    pass


def make():
    operator = Operator("growing")

    @operator.reconciler(Hedge, owns=[ConfigMap])
    async def reconcile(hedge, ctx):
        for number in range(hedge.spec.height):
            await ctx.apply(ConfigMap(meta(f"{hedge.name}-{number}")))

    return operator
"""

INTERRUPTED = """
import signal
import shelves

runs = []


async def creation(cluster):
    await shelves.creation(cluster)
    runs.append(1)
    if len(runs) == 10:
        signal.raise_signal(signal.SIGINT)
"""


FAILING = """
async def nothing():
    pass


async def failing(cluster):
    raise ValueError("no shelf")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder with an operator that forgets what it created."""
    (tmp_path / "shelves.py").write_text(OPERATOR)
    (tmp_path / "scenarios.py").write_text(SCENARIOS)
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("shelves", None)
    sys.modules.pop("scenarios", None)
    sys.modules.pop("failing", None)
    sys.modules.pop("growing", None)


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
    assert "creation: 1 plan passed in" in result.stdout
    assert "1/1 plans" in result.stderr


@pytest.mark.usefixtures("project")
def test_every_plan_runs_twice_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that depends on more than the seed must not pass by chance."""
    monkeypatch.setenv("CI", "true")
    plan = ("--plan", "clock-ahead@write:1")
    in_ci, once = run(*plan), run(*plan, "--once")
    monkeypatch.delenv("CI")
    at_home = run(*plan)
    assert [one.exit_code for one in (in_ci, once, at_home)] == [0, 0, 0]
    assert ["runs twice" in one.stderr for one in (in_ci, once, at_home)] == [True, False, False]


def test_a_failure_becomes_a_test_that_fails_until_it_is_fixed(project: Path) -> None:
    """What was found once is never lost again."""
    result = run("--faults", "F1", "--save-test", "test_found.py", "--json", "report.json", "--html", "page.html")
    assert "wrote test_found.py" in result.stdout
    told = json.loads((project / "report.json").read_text())
    assert told["failures"][0]["plan"] == "crash-before@write:2"
    page = (project / "page.html").read_text()
    assert '<h3 id="crash-before@write:2">crash-before@write:2</h3>' in page
    assert '<a class="failed" href="#crash-before@write:2" title="crash-before@write:2 failed">✗</a>' in page
    assert '<span title="crash-before@write:1 passed">●</span>' in page
    assert "+    &quot;name&quot;: &quot;book-*&quot;" in page
    source = (project / "test_found.py").read_text()
    assert 'plans=["crash-before@write:2"], seed=1, invariants=[no_shelf_without_a_name]' in source
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


def test_a_saved_test_can_be_imported_from_any_folder(project: Path) -> None:
    """The folder in which pytest is called is not on its path; on that of `steer` it is."""
    (project / "tests").mkdir()
    result = run("--faults", "F1", "--stop-after", "1", "--save-test", "tests/test_found.py")
    assert "wrote tests/test_found.py" in result.stdout
    command = [Path(sys.executable).with_name("pytest"), "-q", "--import-mode=importlib", "tests/test_found.py"]
    tested = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - our own pytest
    assert "1 failed" in tested.stdout, tested.stdout
    assert "O1: the cluster ends differently" in tested.stdout


def test_no_file_is_overwritten_by_a_saved_test(project: Path) -> None:
    """The name of a test may be that of another one, which took longer to write."""
    (project / "test_mine.py").write_text("precious")
    result = run("--faults", "F1", "--save-test", "test_mine.py")
    assert result.exit_code == 2
    assert "test_mine.py exists: choose another file" in result.stderr
    assert (project / "test_mine.py").read_text() == "precious"


@pytest.mark.parametrize("option", ["--save-test", "--json", "--html"])
def test_a_folder_that_does_not_exist_is_noticed_before_the_simulation(option: str) -> None:
    """A simulation may take minutes, which would be lost."""
    result = run("--faults", "F1", option, "nowhere/file")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the folder nowhere does not exist; create it first" in result.stderr


def test_generated_operations_need_no_scenario(project: Path) -> None:
    """What users do follows from the schema; a failure becomes a test, too."""
    (project / "growing.py").write_text(GROWING)
    command = ["simulate", "--generate", "12", "--operator", "growing:make", "--json", "report.json"]
    result = CliRunner().invoke(main, [*command, "--save-test", "test_found.py"])
    assert result.exit_code == 1, result.output
    assert "O9: the cluster ends differently" in result.stdout
    assert json.loads((project / "report.json").read_text())["failures"]
    source = (project / "test_found.py").read_text()
    names: dict[str, Callable[[], None]] = {}
    exec(compile(source, "test_found.py", "exec"), names)  # noqa: S102 - what importing a module is
    [test] = [value for name, value in names.items() if name.startswith("test_")]
    with pytest.raises(AssertionError, match="O9"):
        test()


@pytest.mark.usefixtures("project")
def test_the_operator_may_be_a_function_or_the_one_beside_the_scenario() -> None:
    """Two replicas need a function; outside of a project the scenario's own module is the next best place."""
    command = ["simulate", "--faults", "crash-before"]
    result = CliRunner().invoke(main, [*command, "scenarios:creation", "--operator", "shelves:make"])
    assert "scenarios:creation with operator shelves:make" in result.stderr
    assert "creation: 1 of 2 plans failed" in result.stdout, result.output
    result = CliRunner().invoke(main, [*command, "shelves:creation"])
    assert "shelves:creation with operator shelves:operator" in result.stderr
    assert "creation: 1 of 2 plans failed" in result.stdout, result.output


@pytest.mark.usefixtures("project")
def test_a_plan_that_was_not_reached_is_no_success() -> None:
    """A typo in the number of a step must not look like a proof."""
    result = run("--plan", "crash-after@write:9")
    assert result.exit_code == 1
    assert "creation: 0 plans passed, 1 not reached" in result.stdout
    assert "not reached: crash-after@write:9 (the undisturbed run has 2 writes, 0 reads" in result.stdout


def test_ctrl_c_prints_what_is_known_and_nothing_else(project: Path) -> None:
    """Tracebacks of coroutines that were closed would bury it."""
    (project / "interrupted.py").write_text(INTERRUPTED)
    steer = Path(sys.executable).with_name("steer")
    command = [steer, "simulate", "interrupted:creation", "--operator", "shelves:operator", "--jobs", "1", "--once"]
    ended = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - our own command
    assert ended.returncode == 130
    assert "not run in" in ended.stdout
    assert ended.stderr == "interrupted:creation with operator shelves:operator\n"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "shelves", "--operator", "shelves:operator"], "is not MODULE:SCENARIO"),
        (["simulate"], "no scenario given"),
        (
            ["simulate", "shelves:nothing", "--operator", "shelves:operator"],
            "Invalid value for MODULE:SCENARIO: the module shelves has no 'nothing'",
        ),
        (["simulate", "shelves:Shelf", "--operator", "shelves:operator"], "is not a scenario"),
        (["simulate", "shelves:creation", "--operator", "shelves:Shelf"], "a function without arguments"),
        (["simulate", "shelves:creation", "--operator", "shelves:creation"], "is neither an Operator nor a function"),
        (
            ["simulate", "scenarios:creation"],
            "no operator given: there is no project in this folder, and scenarios has no operator",
        ),
        (["simulate", "nowhere:creation", "--operator", "shelves:operator"], "cannot import 'nowhere'"),
        (
            ["simulate", "shelves:creation", "--operator", "shelves:operator", "--faults", "fire"],
            "'fire' is not a kind of",
        ),
        (["simulate", "shelves:creation", "--operator", "shelves:operator", "--plan", "x"], "'x' is not a plan"),
        (["simulate", "failing:nothing", "--operator", "shelves:operator"], "takes the cluster"),
        (["simulate", "--generate", "-3"], "'-3' is not a number: pass 1 or more"),
        (["simulate", "shelves:creation", "--pairs", "-1"], "'-1' is not a number: pass 0 or more"),
        (["simulate", "shelves:creation", "--budget", "-1"], "'-1' is not a number of seconds"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: list[str], message: str) -> None:
    """A typo gets a sentence and exit code 2, not a stack."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.usefixtures("project")
def test_a_scenario_that_fails_without_a_fault_is_an_error_of_its_author() -> None:
    """It was reported as a bug in `steer`, with exit code 70."""
    result = CliRunner().invoke(main, ["simulate", "failing:failing", "--operator", "shelves:operator"])
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "steer: the scenario fails without any fault (seed 1):\nscenario: ValueError: no shelf\n"
    )
