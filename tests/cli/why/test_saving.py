"""A reconcile of a running operator becomes a test, and a replay on other code: as a user does it, with processes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from tests.support.shop_project import CODE, TARGET, write_shop
from tests.support.terminal import Dev
from tests.support.web_view import View, url_in

SHOP = "apiVersion: web.example.com/v1\nkind: Shop\nmetadata:\n  name: a\nspec:\n  shelves: 2\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run `steer dev` with one object, and make its folder the current one."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = write_shop(tmp_path / "shop")
    with Dev(folder, "--operator", TARGET) as dev:
        view = View(url_in(dev.wait_for("shop is running")))
        assert view.post("/api/actions", {"action": "apply", "text": SHOP})[0] == 200
        dev.wait_for("ConfigMap a-0 was created")
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)
        yield folder
    sys.modules.pop("shop", None)


def steer(*arguments: str) -> Result:
    """Run a command as in another terminal."""
    sys.modules.pop("shop", None)
    return CliRunner().invoke(main, arguments)


def pytest_run(folder: Path, file: str) -> subprocess.CompletedProcess[str]:
    """Run a saved test in a separate process, as a user does."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), file]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own command


def test_a_reconcile_becomes_a_test_that_fails_when_the_code_changes(shop: Path) -> None:
    """The test is green on the code that ran, and names what other code writes."""
    saved = steer("why", "shop/a", "--save-test", "tests/test_found.py")
    assert saved.exit_code == 0, saved.output
    assert saved.stdout == (
        "tests/test_found.py: a test of reconcile 1 of Shop default/a; run it with `pytest tests/test_found.py`\n"
    )
    source = (shop / "tests/test_found.py").read_text()
    assert "from shop import operator" in source
    assert "async def test_shop_default_a_reconcile_1() -> None:" in source
    green = pytest_run(shop, "tests/test_found.py")
    assert green.returncode == 0, green.stdout
    (shop / "shop.py").write_text(CODE.replace('data={"of"', 'data={"from"'))
    red = pytest_run(shop, "tests/test_found.py")
    assert red.returncode == 1
    assert "apply configmaps default/a-0: data.of 2 → absent" in red.stdout
    again = steer("why", "shop/a", "--save-test", "tests/test_found.py")
    assert (again.exit_code, again.stderr) == (1, "steer: tests/test_found.py exists: choose another file\n")


def test_recorded_reconciles_are_compared_with_other_code(shop: Path) -> None:
    """The exit code says it to CI: 0 the same, 2 differences, 1 a failure."""
    exported = steer("why", "shop/a", "--export", "a.json")
    assert exported.exit_code == 0, exported.output
    assert exported.stdout.startswith("a.json: ")
    same = steer("replay", "a.json", "--against", TARGET)
    assert same.exit_code == 0, same.output
    assert same.stdout.splitlines()[0] == "reconcile 1 of Shop default/a: the same"
    (shop / "shop.py").write_text(CODE.replace("range(shop.spec.shelves)", "range(1)"))
    other = steer("replay", "a.json", "--against", TARGET)
    assert other.exit_code == 2, other.output
    assert other.stdout.splitlines()[:2] == [
        "reconcile 1 of Shop default/a: 1 difference",
        "  not sent any more: apply configmaps default/a-1",
    ]
    shown = json.loads(steer("replay", "a.json", "--against", TARGET, "--json").stdout)
    assert shown[0]["differences"] == ["not sent any more: apply configmaps default/a-1"]
    (shop / "shop.py").write_text(CODE.replace("@operator.reconciler", "@(lambda *_, **__: lambda f: f)"))
    failed = steer("replay", "a.json", "--against", TARGET)
    assert failed.exit_code == 1
    assert "not run: the operator 'shop' has no reconciler for Shop" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["why", "--save-test", "x.py"], "--save-test and --export need KIND/NAME"),
        (["why", "shop/a", "--export", "x", "--follow"], "cannot be combined with --json or --follow"),
        (["why", "shop/a", "--reconcile", "1"], "--reconcile and --operator need --save-test or --export"),
        (["replay", "none.json"], "'none.json' does not exist"),
        (["replay"], "Missing argument 'FILE…'"),
    ],
)
def test_a_wrong_use_is_one_sentence(arguments: list[str], said: str) -> None:
    """Before any request or write."""
    found = steer(*arguments)
    assert found.exit_code == 2
    assert said in found.stderr
    assert "Traceback" not in found.output


def test_a_file_that_is_not_an_export_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And exit code 1: code 2 would mean that something differs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text('{"a": 1}')
    for arguments in (["replay", "a.json", "--against", "json:loads"], ["replay", "a.json"]):
        found = steer(*arguments)
        assert (found.exit_code, "is not an export of `steer why --export`" in found.stderr) == (1, True), found.output
