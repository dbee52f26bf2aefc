"""The page of a real `steer dev`: a user creates, edits, pauses, breaks and deletes an object."""

import asyncio
from pathlib import Path

import pytest

from tests.support.shop_project import TARGET, write_shop
from tests.support.terminal import Dev
from tests.support.web_view import url_in
from tests.webview.browser.chromium import Look, Window, needs_chromium, window

pytestmark = needs_chromium


@pytest.fixture(autouse=True)
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the sockets of the processes apart from others."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


async def test_an_object_is_created_edited_paused_and_deleted_on_the_page(tmp_path: Path) -> None:
    """Each button does what it says, and the server's errors are shown while the user types."""
    with Dev(write_shop(tmp_path / "shop"), "--operator", TARGET) as dev:
        url, _, token = url_in(await asyncio.to_thread(dev.wait_for, "shop is running")).partition("/#token=")
        async with window(url, Look(at="#/api", token=token)) as view:
            await _create(view)
            await _save_test(view)
            await _edit(view)
            await _pause(view)
            await _plan_an_edit(view)
            await _apply_a_plan(view)
            await _break(view)
            await _move_time(view)
            await _delete(view)


async def _create(view: Window) -> None:
    await view.page.get_by_role("link", name="New Shop").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await view.see("The API server would accept this.")
    text = await area.input_value()
    await area.fill(text.replace("shelves: 1", "shelves: many"))
    await view.see("spec.shelves: Invalid value", ".problems")
    await area.fill(text.replace("shelves: 1", "shelfs: 2"))
    await view.see('unknown field "spec.shelfs"', ".problems")
    await area.fill(text.replace("shelves: 1", "shelves: 2").replace("name: example", "name: a"))
    await view.see("The API server would accept this.")
    await view.page.get_by_role("button", name="Apply").click()
    await view.see("Shop default/a is applied.", ".note")
    await view.go("#/objects/Shop/default/a")
    await view.see("Shop default/a is ready: 2 shelves are stocked.")


async def _save_test(view: Window) -> None:
    async with view.page.expect_download() as waiting:
        await view.page.locator("li.run").last.get_by_role("button", name="Save as test").click()
    download = await waiting.value
    assert download.suggested_filename == "test_shop_default_a_reconcile_1.py"
    source = await asyncio.to_thread(Path(await download.path()).read_text)
    assert "from shop import operator" in source
    await view.see("Saved as test_shop_default_a_reconcile_1.py.", ".note")


async def _edit(view: Window) -> None:
    await view.page.get_by_role("button", name="Edit").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await area.fill((await area.input_value()).replace("shelves: 2\nstatus", "shelves: 3\nstatus"))
    await view.see("The API server would accept this.")
    await view.page.get_by_role("button", name="Apply").click()
    await view.see("Shop default/a is ready: 3 shelves are stocked.")
    await view.see("spec.shelves changed 2 → 3")


async def _pause(view: Window) -> None:
    await view.page.get_by_role("button", name="Pause").click()
    await view.see("Shop default/a is paused", "h1")
    await view.page.get_by_role("button", name="Resume").click()
    await view.see("Shop default/a is ready", "h1")


async def _plan_an_edit(view: Window) -> None:
    await view.page.get_by_role("button", name="Edit").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await area.fill((await area.input_value()).replace("shelves: 3\nstatus", "shelves: 1\nstatus"))
    await view.page.locator(".editor").get_by_role("button", name="Plan", exact=True).click()
    await view.see("If this is applied", ".plan")
    await view.see("ConfigMap a-2", ".plan")
    await view.page.get_by_role("button", name="Cancel").click()
    await view.see("Shop default/a is ready: 3 shelves are stocked.")


async def _apply_a_plan(view: Window) -> None:
    """Pause everything, change an object, look at the plan, apply it."""
    await view.go("#/plan")
    await view.page.get_by_role("button", name="Pause all objects").click()
    await view.see("1 object is paused.", ".note")
    await view.go("#/objects/Shop/default/a")
    await view.see("Shop default/a is paused", "h1")
    await view.page.get_by_role("button", name="Edit").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await area.fill((await area.input_value()).replace("shelves: 3\nstatus", "shelves: 2\nstatus"))
    await view.see("The API server would accept this.")
    await view.page.get_by_role("button", name="Apply").click()
    await view.see("Shop default/a is applied.", ".note")
    await view.go("#/plan")
    await view.page.get_by_role("button", name="Make a plan").click()
    await view.see("If these objects are resumed", ".plan")
    await view.see("ConfigMap a-2", ".plan")
    await view.page.get_by_role("button", name="Apply this plan").click()
    await view.see("The operator reconciles 1 object now.", ".note")
    await view.go("#/objects/Shop/default/a")
    await view.see("Shop default/a is ready: 2 shelves are stocked.")
    await view.page.get_by_role("button", name="Edit").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await area.fill((await area.input_value()).replace("shelves: 2\nstatus", "shelves: 3\nstatus"))
    await view.page.get_by_role("button", name="Apply").click()
    await view.see("Shop default/a is ready: 3 shelves are stocked.")


async def _break(view: Window) -> None:
    await view.go("#/settings")
    await view.page.locator("li", has_text="internal-error").get_by_role("button", name="Inject").click()
    await view.see("The fault internal-error strikes with the next write of the operator.", ".note")
    await view.go("#/objects/Shop/default/a")
    await view.page.get_by_role("button", name="Edit").click()
    area = view.page.get_by_role("textbox", name="YAML")
    await area.fill((await area.input_value()).replace("shelves: 3\nstatus", "shelves: 4\nstatus"))
    await view.page.get_by_role("button", name="Apply").click()
    await view.see("injected from the web view of steer dev", ".timeline")
    await view.see("Shop default/a is ready: 4 shelves are stocked.")


async def _move_time(view: Window) -> None:
    await view.go("#/settings")
    await view.page.get_by_role("button", name="+1 h").click()
    await view.see("The operator's clock was moved by 1 h", ".note")
    await view.go("#/objects/Shop/default/a")
    await view.see("because its timer ended", ".timeline")
    await view.page.get_by_role("button", name="Reconcile now").click()
    await view.see("because it was requested", ".timeline")


async def _delete(view: Window) -> None:
    await view.page.get_by_role("button", name="Delete").click()
    await view.page.get_by_role("button", name="Really delete?").click()
    await view.see("Shop default/a does not exist any more", "h1")
