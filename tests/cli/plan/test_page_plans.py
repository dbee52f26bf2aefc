"""Plans for the web view: made by `steer plan` in another process, one at a time."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from steersman.cli.plan import page_plans
from steersman.cli.plan.page_plans import PagePlans
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.testing.eventually import eventually
from steersman.webview.plans import PlanRequest

#: Stands for Python: prints what it is started with, or does not end.
_SCRIPT = """\
#!{python}
import json, pathlib, sys, time
pathlib.Path("{mark}").touch()
if "wait" in sys.argv:
    time.sleep(600)
if "fail" in sys.argv:
    sys.exit("steer: there is no project in this folder")
print(json.dumps({{"arguments": sys.argv[3:], "input": sys.stdin.read()}}))
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace Python by a script; return the file that it creates when it has started."""
    script, file = tmp_path / "python", tmp_path / "started"
    script.write_text(_SCRIPT.format(python=sys.executable, mark=file), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(page_plans.sys, "executable", str(script))
    return file


def plans(arguments: Sequence[str]) -> PagePlans:
    """Return plans of an operator."""
    return PagePlans(lambda: arguments, RealClock())


@pytest.mark.usefixtures("mark")
async def test_the_command_gets_what_the_page_asks_for() -> None:
    """A text travels by its input: arguments can be read by every user of the machine."""
    found = json.loads(await plans(["a:b", "--limit", "200"]).plan(PlanRequest()))
    assert found == {"arguments": ["plan", "a:b", "--limit", "200", "--output", "json"], "input": ""}
    found = json.loads(await plans(["a:b"]).plan(PlanRequest(text="kind: X", resume=True)))
    assert found["arguments"] == ["plan", "a:b", "--output", "json", "--resume", "--filename", "-"]
    assert found["input"] == "kind: X"


@pytest.mark.usefixtures("mark")
async def test_an_error_of_the_command_is_shown() -> None:
    """In its own words."""
    with pytest.raises(ConfigError, match=r"^there is no project in this folder$"):
        await plans(["fail"]).plan(PlanRequest())


async def test_one_plan_is_made_at_a_time_and_ends_with_its_request(mark: Path) -> None:
    """A page that is opened ten times must not start ten processes, nor leave one behind."""
    one = plans(["wait"])

    async def make() -> None:
        await one.plan(PlanRequest())

    async with background(make(), name="plan"):
        await eventually(mark.exists, clock=RealClock(), within=30.0)
        with pytest.raises(ConfigError, match="another plan is being made"):
            await one.plan(PlanRequest())
    with pytest.raises(ConfigError, match="not done after"):
        await impatient(one)


async def impatient(one: PagePlans) -> None:
    """Make a plan that may take a moment only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_plans, "TIMEOUT", 0.2)
        await one.plan(PlanRequest())
