"""Actions of the web view: accepted from the page with its token in `steer dev`, rejected in `steer run`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.shop_project import TARGET, write_shop
from tests.support.terminal import Dev
from tests.support.web_view import View, url_in

SHOP = "apiVersion: web.example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: {shelves: 2}\n"
ACTION = {"action": "fault", "fault": "conflict"}


@pytest.fixture(autouse=True)
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the sockets of the processes apart from others."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_in_steer_dev_only_the_page_with_its_token_acts(tmp_path: Path) -> None:
    """Every other page of the same browser can send requests to loopback, too."""
    with Dev(write_shop(tmp_path / "shop"), "--operator", TARGET) as dev:
        view = View(url_in(dev.wait_for("shop is running")))
        assert view.post("/api/actions", ACTION) == (
            200,
            {"done": "The fault conflict strikes with the next write of the operator."},
        )
        refused = [
            view.post("/api/actions", ACTION, authorization=""),
            view.post("/api/actions", ACTION, authorization="Bearer nothing-at-all-that-fits"),
            view.post(f"/api/actions?token={view.token}", ACTION, authorization=""),
            view.post("/api/actions", ACTION, origin="http://evil.example"),
            view.post("/api/actions", ACTION, host="evil.example"),
            view.post("/api/actions", ACTION, content_type="text/plain"),
            view.post("/api/actions", ACTION, sec_fetch_site="cross-site"),
            view.post("/api/check", {"text": ""}, authorization=""),
        ]
        assert [status for status, _ in refused] == [401, 401, 401, 403, 421, 415, 403, 401]
        assert all(answer["error"].endswith(".") for _, answer in refused)
        status, checked = view.post("/api/check", {"text": "kind: Shop"})
        assert (status, checked["problems"]) == (200, ["a document needs apiVersion and kind; it has only: kind"])
        status, plan = view.post("/api/plan", {"text": SHOP})
        assert (status, plan["summary"]["creates"]) == (200, 2)
        assert [one["name"] for one in plan["proposed"]] == ["a"]


@contextmanager
def run_with_view(folder: Path) -> Iterator[View]:
    """Run `steer run --ui` inside the block."""
    command = [sys.executable, "-m", "steersman.cli", "run", "--embedded", "--dev", "--ui", TARGET]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
        assert process.stderr is not None
        try:
            yield View(url_in(next(line for line in process.stderr if "web view:" in line)))
        finally:
            process.terminate()


@pytest.mark.parametrize("path", ["/api/actions", "/api/check"])
def test_in_steer_run_no_page_acts(path: str, tmp_path: Path) -> None:
    """In production the page is safe to open for everyone who has its address."""
    with run_with_view(write_shop(tmp_path / "shop")) as view:
        status, answer = view.post(path, ACTION)
        assert (status, answer["error"]) == (
            405,
            "This web view is read-only: objects are changed from the page in `steer dev` only.",
        )
        assert view.post(path, ACTION, authorization="")[0] == 401
        assert view.post(path, ACTION, origin="http://evil.example")[0] == 403


def test_in_steer_run_a_plan_is_made_of_what_the_operator_does_by_itself(tmp_path: Path) -> None:
    """A proposed object would be judged with the permissions of the operator, not of the person who looks."""
    with run_with_view(write_shop(tmp_path / "shop")) as view:
        status, plan = view.post("/api/plan", {})
        assert (status, plan["summary"]["isEmpty"]) == (200, True)
        assert plan["notes"] == ["there is nothing to plan: no Shop"]
        assert view.post("/api/plan", {"text": SHOP})[0] == 403
        assert view.post("/api/plan", {}, authorization="")[0] == 401
