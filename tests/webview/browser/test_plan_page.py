"""The page about plans, and the plan of a text in the form, in a real Chromium."""

import pytest

from steersman.clock import RealClock
from steersman.webview.actions import ReconcileNow, Resume
from steersman.webview.plans import PlanRequest
from tests.webview.browser.chromium import Look, needs_chromium, viewed
from tests.webview.browser.test_actions import TEXT, DevelopmentActions
from tests.webview.dictionaries import words
from tests.webview.sample import showcase
from tests.webview.sample_plan import PAUSED, WEB, SamplePlans

pytestmark = needs_chromium


async def test_a_plan_is_shown_by_object_child_and_field() -> None:
    """In production, too: it writes nothing, so nothing can be applied there."""
    plans = SamplePlans()
    async with viewed(showcase(RealClock()), Look(at="#/plan"), plans=plans) as view:
        await view.see("What the operator would do now, without doing it.")
        assert await view.page.locator("main button").count() == 1
        await view.page.get_by_role("button", name="Make a plan").click()
        for text in (
            "4 objects planned · 1.4 s · 7 objects left out · 3 writes change nothing",
            "Deployment web",
            "spec.template.spec.containers[main].image",
            "20 fields",
            "because its owner is deleted",
            "deleted and created again",
            "KeyError: 'tls.crt'",
            "https://dns.example.com: POST",
            "not run: background function beat of operator website",
        ):
            await view.see(text)
        tiles = await view.page.locator(".plan-tiles .tile").all_inner_texts()
        assert [" ".join(one.split()) for one in tiles] == [
            "1 created",
            "4 changed",
            "1 deleted",
            "1 replaced",
            "1 failed",
        ]
        secret = view.page.locator(".change", has_text="Secret tls")
        assert await secret.locator("del").inner_text() == "<hash 3f9a0c41d2b7>"
        assert await secret.locator("ins").inner_text() == "<hash b81e5d07a4c6>"
        assert await view.page.locator("details .diff").is_hidden()
        await view.page.get_by_text("20 fields").click()
        await view.see("and 8 more fields", "details")
        assert await view.page.locator("main button").count() == 1
        await view.page.get_by_role("link", name="Website shop/web").click()
        await view.see("Website shop/web is not ready")
    assert plans.asked == [PlanRequest()]


async def test_a_plan_is_applied_in_development() -> None:
    """Paused objects are planned as if they were resumed: to apply the plan resumes them, and reconciles the others."""
    actions, plans = DevelopmentActions(), SamplePlans()
    async with viewed(showcase(RealClock()), Look(at="#/plan"), actions, plans) as view:
        press = view.page.get_by_role
        await press("button", name="Make a plan").click()
        await view.see("If these objects are resumed")
        await press("button", name="Apply this plan").click()
        await view.see("The operator reconciles 2 objects now.", ".note")
        assert await press("button", name="Apply this plan").count() == 0
        assert actions.performed == [Resume(PAUSED), ReconcileNow(WEB)]
        actions.performed.clear()
        await press("button", name="Pause all objects").click()
        await view.see("25 objects are paused.", ".note")
        assert len(actions.performed) == 25
    assert plans.asked == [PlanRequest(resume=True)]


async def test_a_text_is_planned_before_it_is_applied() -> None:
    """An edited object: what would the operator do then? The plan goes when the text changes."""
    actions, plans = DevelopmentActions(), SamplePlans()
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web"), actions, plans) as view:
        await view.page.get_by_role("button", name="Edit").click()
        area = view.page.get_by_role("textbox", name="YAML")
        button = view.page.locator(".editor").get_by_role("button", name="Plan", exact=True)
        await area.fill("nothing")
        await button.click()
        await view.see("line 1: the object has no kind", ".note-bad")
        await area.fill(TEXT)
        await button.click()
        await view.see("If this is applied")
        await view.see("Deployment web", ".editor")
        await area.fill(f"{TEXT}# more")
        await view.page.locator(".plan").wait_for(state="detached")
        await view.page.get_by_role("button", name="Apply").click()
        await view.see("Done: Apply.", ".note")
    assert plans.asked == [PlanRequest(text="nothing"), PlanRequest(text=TEXT)]


async def test_the_keyboard_is_sufficient_for_a_plan() -> None:
    """A number opens the page; tab, space and enter make the plan; j and k walk over its objects."""
    async with viewed(showcase(RealClock()), plans=SamplePlans()) as view:
        press = view.page.keyboard.press
        await view.page.get_by_role("link", name="Plan").wait_for()
        await press("5")
        await view.see("What the operator would do now")
        await view.page.get_by_role("button", name="Make a plan").focus()
        await press("Enter")
        await view.see("Deployment web")
        await view.page.evaluate("document.activeElement.blur()")
        await press("j")
        await press("Enter")
        await view.see("Website shop/web is not ready")
        await press("6")
        await view.see("Settings of this run")


async def test_an_operator_without_plans_has_no_page_about_them() -> None:
    """Its address shows the overview."""
    async with viewed(showcase(RealClock()), Look(at="#/plan")) as view:
        await view.see("need a look")
        assert await view.page.get_by_role("link", name="Plan").count() == 0


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (760, "light"), (1280, "light")])
async def test_a_plan_fits_every_screen_and_language(width: int, scheme: str, locale: str) -> None:
    """The phone of the person on call has 390 pixels; the navigation has room for one more page."""
    chosen = words("zh" if locale == "zh-CN" else "en")
    look = Look(at="#/plan", width=width, height=844, locale=locale, scheme="dark" if scheme == "dark" else "light")
    async with viewed(showcase(RealClock()), look, DevelopmentActions(), SamplePlans()) as view:
        await view.page.get_by_role("button", name=chosen["plan.make"]).click()
        await view.see("Deployment web")
        assert await view.run("document.scrollingElement.scrollWidth") <= width
        links = await view.run(
            "[...document.querySelectorAll('.side nav a')].map(a => a.getBoundingClientRect().right)"
        )
        assert len(links) == 6
        assert max(links) <= width
        text = await view.text("body")
        assert [key for key in chosen if key.startswith("plan.") and key in text] == []
        if locale == "zh-CN":
            english = [one for key, one in words("en").items() if key.startswith("plan.") and one[0].isupper()]
            assert [one for one in english if "{" not in one and len(one) > 5 and one in text] == []
