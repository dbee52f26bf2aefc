"""What a person can do from the page, where the operator allows it."""

from steersman.clock import RealClock
from steersman.errors import ConfigError
from steersman.history.records import ObjectName
from steersman.webview.actions import (
    ACTION_NAMES,
    Action,
    Apply,
    Delete,
    Fault,
    InjectFault,
    MoveClock,
    Pause,
    ReconcileNow,
    Resume,
)
from tests.webview.browser.chromium import Look, needs_chromium, viewed
from tests.webview.sample import showcase

pytestmark = needs_chromium

WEB = ObjectName("Website", "shop", "web")
PAUSED = ObjectName("Website", "blog", "winter-sale")
TEXT = "apiVersion: shop.example.com/v1\nkind: Website\n"


class DevelopmentActions:
    """Records the requested actions."""

    offered = ACTION_NAMES
    faults = (Fault("conflict", "The next write fails with a conflict."),)

    def __init__(self) -> None:
        self.performed: list[Action] = []

    async def perform(self, action: Action) -> str:
        """Record an action; reject a text that is not an object."""
        if isinstance(action, Apply) and "kind:" not in action.text:
            raise ConfigError("line 1: the object has no kind")
        self.performed.append(action)
        return f"Done: {type(action).__name__}."

    async def check(self, text: str) -> tuple[str, ...]:
        """Reject a text without a kind."""
        return () if "kind:" in text else ("kind: Required value",)

    async def document(self, name: ObjectName) -> str | None:
        """Return a text for every object."""
        return f"{TEXT}# {name}\n"


async def test_a_read_only_view_has_no_buttons() -> None:
    """In production nothing invites users to change anything."""
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web")) as view:
        await view.see("Website shop/web is not ready")
        assert await view.page.locator("main button").count() == 0
        await view.go("#/settings")
        await view.see("read-only")
        assert await view.page.locator("main button").count() == 0


async def test_an_object_is_reconciled_paused_and_deleted_on_request() -> None:
    """A deletion asks for confirmation; every action is answered with the operator's sentence."""
    actions = DevelopmentActions()
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web"), actions) as view:
        press = view.page.get_by_role
        await press("button", name="Reconcile now").click()
        await view.see("Done: ReconcileNow.", ".note")
        await press("button", name="Pause").click()
        await view.see("Done: Pause.", ".note")
        await press("button", name="Delete").click()
        assert actions.performed == [ReconcileNow(WEB), Pause(WEB)]
        await press("button", name="Really delete?").click()
        await view.see("Done: Delete.", ".note")
        await view.go("#/objects/Website/blog/winter-sale")
        await press("button", name="Resume").click()
        await view.see("Done: Resume.", ".note")
    assert actions.performed == [ReconcileNow(WEB), Pause(WEB), Delete(WEB), Resume(PAUSED)]


async def test_an_object_is_edited_as_yaml() -> None:
    """The server's error is shown beside the text, which stays."""
    actions = DevelopmentActions()
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web"), actions) as view:
        await view.page.get_by_role("button", name="Edit").click()
        area = view.page.get_by_role("textbox", name="YAML")
        assert await area.input_value() == f"{TEXT}# {WEB}\n"
        await area.fill("nothing")
        await view.see("kind: Required value", ".problems")
        await view.page.get_by_role("button", name="Apply").click()
        await view.see("line 1: the object has no kind", ".note-bad")
        assert await area.input_value() == "nothing"
        await area.fill(TEXT)
        await view.see("The API server would accept this.")
        await view.page.get_by_role("button", name="Apply").click()
        await view.see("Done: Apply.", ".note")
        await area.wait_for(state="detached")
        await view.go("#/api")
        await view.page.get_by_role("link", name="New Website").click()
        area = view.page.get_by_role("textbox", name="YAML")
        await view.see("The API server would accept this.")
        assert (await area.input_value()).startswith("apiVersion: shop.example.com/v1\nkind: Website\n")
        await area.fill(TEXT)
        await view.page.get_by_role("button", name="Apply").click()
        await view.see("Done: Apply.", ".note")
    assert actions.performed == [Apply(TEXT), Apply(TEXT)]


async def test_the_clock_is_advanced_and_faults_are_injected() -> None:
    """Only where there is a clock that can be moved."""
    actions = DevelopmentActions()
    async with viewed(showcase(RealClock()), Look(at="#/settings"), actions) as view:
        await view.page.get_by_role("button", name="+10 min").click()
        await view.see("Done: MoveClock.", ".note")
        await view.see("The next write fails with a conflict.")
        await view.page.get_by_role("button", name="Inject").click()
        await view.see("Done: InjectFault.", ".note")
    assert actions.performed == [MoveClock(600), InjectFault("conflict")]
