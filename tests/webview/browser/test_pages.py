"""The web view as people see it: every page, in a real Chromium."""

import asyncio
import re
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from steersman.clock import RealClock
from steersman.history.records import ConditionRecord, KeyPhase, KeyState, ObjectName, Result
from steersman.history.state import ObjectSummary
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Server
from steersman.webview.access import AccessRules
from steersman.webview.app import WebViewApp, WebViewOptions
from tests.support.fake_exchange import FakeExchange
from tests.webview.browser.chromium import TOKEN, Look, chromium, needs_chromium, served, viewed, window
from tests.webview.dictionaries import words
from tests.webview.sample import READY, SampleOperator, many, showcase

if TYPE_CHECKING:
    from playwright.async_api import Route

pytestmark = needs_chromium

PAGES = {
    "#/": "3 objects need a look; 20 of 26 are ready.",
    "#/objects": "Objects",
    "#/objects/Website/shop/web": "Website shop/web is not ready: 2 of 3 pods are ready",
    "#/objects/Website/shop/checkout": "KeyError: 'tls.crt'",
    "#/objects/Database/shop/archive": "Database shop/archive is being deleted",
    "#/queues": "Keys that are not idle",
    "#/api": "a premium website needs at least 2 replicas",
    "#/settings": "Settings of this run",
}
WEB = ObjectName("Website", "shop", "web")


async def test_every_page_opens_without_an_error_and_loads_from_this_machine_only() -> None:
    """A script error, a blocked style or a request to another host fails when the window closes."""
    async with viewed(showcase(RealClock())) as view:
        for at, text in PAGES.items():
            await view.go(at)
            await view.see(text)
        assert any(one.endswith("/api/stream") for one in view.requests)


async def test_the_overview_lists_problems_and_every_part() -> None:
    """Kinds, phases, caches with size and age, leadership, what fails, and the latest runs."""
    async with viewed(showcase(RealClock())) as view:
        for text in (
            "leads shop/website-operator",
            "up 5 h 12 min",
            "KeyError: 'tls.crt' in issue_certificate",
            "1 backing off",
            "18,204 runs, 61 failed",
            "the server does not serve cert-manager.io/v1",
            "because Service cart was created",
        ):
            await view.see(text)
        assert await view.page.locator(".activity rect.bar").count() == 60
        await view.page.get_by_role("link", name="Website shop/legacy").first.click()
        await view.see("Website shop/legacy is not ready: image shop/legacy@latest is not a reference.")


async def test_an_object_shows_why_what_it_owns_and_what_changed() -> None:
    """The tree is coloured by readiness, and differences name the field with its old and its new value."""
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web")) as view:
        await view.see("Next run: when Pod web-7c9f-x7k2p changes, or at")
        await view.see("because spec.replicas changed 2 → 3")
        assert await view.page.locator(".diff del").first.inner_text() == "2"
        assert await view.page.locator(".diff ins").first.inner_text() == "3"
        pending = view.page.locator(".node", has_text="web-7c9f-x7k2p")
        assert await pending.locator(".mark").get_attribute("aria-label") == "not ready"
        await view.see("and 2 more fields", ".diff")
        await view.see("Rolling out shop/web:1.42 to 3 pods.", ".beside")


async def test_the_timeline_shows_reviews_and_leadership_between_the_runs() -> None:
    """A denied change and a new leader explain a run that came late, or none; both appear without a reload."""
    operator = showcase(RealClock())
    operator.lead(is_leader=True, ago=3600)
    operator.review(WEB, ago=100, is_allowed=True)
    operator.review(WEB, ago=90, status=499)
    async with viewed(operator, Look(at="#/objects/Website/shop/web")) as view:
        await view.see("the operator began to lead (shop/website-operator)", ".timeline")
        await view.see("no answer (HTTP 499)", ".review")
        await view.see("allowed", ".review")
        operator.review(WEB, is_allowed=False, message="replicas must not shrink to <b>0</b>")
        await view.see("denied: replicas must not shrink to <b>0</b>", ".timeline")
        titles = await view.page.locator(".timeline .run-title strong").all_inner_texts()
        assert titles[0] == "review of UPDATE"
        assert titles[-1] == "the operator began to lead (shop/website-operator)"
        operator.lead(is_leader=False, reason="the lease could not be renewed in time")
        await view.see("the lease could not be renewed in time", ".timeline")
        await view.go("#/")
        await view.see("the operator ceased to lead (shop/website-operator)", ".feed")
        await view.see("412 reviews, 3 denied, 0 without an answer, slowest 18 ms", ".webhooks")


async def test_the_api_is_shown_in_words() -> None:
    """Types, limits, defaults and rules of every field, for readers who do not know OpenAPI."""
    async with viewed(showcase(RealClock()), Look(at="#/api")) as view:
        await view.see("A website of the shop.")
        replicas = view.page.locator("tr", has_text="spec.replicas")
        assert re.split(r"\s*\n\s*|\t", await replicas.inner_text()) == [
            "spec.replicas",
            "whole number",
            "Pods that serve it.",
            "at least 0 · at most 50 · default 1",
        ]
        await view.see("required", "tr:has-text('spec.image')")
        await view.see("list of objects", "tr:has-text('spec.pages')")
        await view.see('one of "basic", "premium"', "tr:has-text('spec.tier')")
        await view.see("self.tier != 'premium' || self.replicas >= 2", ".rule")
        assert await view.page.get_by_role("link", name="New Website").count() == 0


async def test_changes_are_shown_without_a_reload() -> None:
    """The overview, the list and the object's own page follow the operator."""
    operator = showcase(RealClock())
    async with viewed(operator) as view:
        await view.see("Live", ".side")
        operator.run(WEB, result=Result.FAILED, message="the disk is on fire")
        await view.see("the disk is on fire", ".feed")
        await view.go("#/objects")
        await view.page.fill("#filter", "shop/web")
        await view.see("the disk is on fire", ".line")
        operator.put(WEB, conditions=(READY,), state=KeyState())
        operator.run(WEB)
        await view.page.locator(".line .mark-ok").wait_for()
        await view.go("#/objects/Website/shop/web")
        await view.see("Website shop/web is ready: 3 of 3 pods are ready.")
        operator.put(WEB, conditions=(replace(READY, status="False", message="a pod was evicted"),))
        operator.run(WEB)
        await view.see("Website shop/web is not ready: a pod was evicted.")
        del operator.views[WEB]
        operator.run(WEB, is_cleanup=True)
        await view.see("Website shop/web does not exist any more, or the operator does not watch it.")


async def test_the_token_is_removed_from_the_address_and_survives_a_reload() -> None:
    """Neither a screenshot nor a copied link gives access."""
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/web")) as view:
        await view.see("Website shop/web is not ready")
        assert view.page.url == f"{view.url}/#/objects/Website/shop/web"
        assert all(TOKEN not in one for one in view.requests)
        await view.page.reload()
        await view.see("Website shop/web is not ready")


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        ("", "The address lacks its token: open the whole address that the operator printed."),
        ("wrong-wrong-wrong", "The token is wrong: it changes with every start, so open the address of this run."),
    ],
)
async def test_without_the_right_token_there_is_one_sentence(token: str, sentence: str) -> None:
    """A user with an old tab learns what to do."""
    async with viewed(showcase(RealClock()), Look(token=token)) as view:
        await view.see(sentence)
        assert "website-operator" not in await view.text("body")


async def test_errors_are_shown_in_chinese_too() -> None:
    """The sentences come from the operator, so the page has them in its own dictionary."""
    async with viewed(showcase(RealClock()), Look(token="wrong-wrong-wrong", locale="zh-CN")) as view:
        await view.see("令牌不正确")
    async with viewed(showcase(RealClock()), Look(at="#/objects/Website/shop/none", locale="zh-CN")) as view:
        await view.see("Website shop/none 不存在")


class StatusApp:
    """Records the status of every answer of the view, by path."""

    def __init__(self, app: WebViewApp) -> None:
        self._app = app
        self.statuses: dict[str, list[int]] = {}

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Forward the request to the view."""
        kept = FakeExchange()
        assert self._app.handle(request, kept) is None
        assert kept.response is not None
        self.statuses.setdefault(request.target.partition("?")[0], []).append(kept.response.status)
        exchange.respond(kept.response)


class OtherApp:
    """Another program of this machine, whose page tries to access ours."""

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer with a page."""
        del request
        exchange.respond(Response(200, [("content-type", "text/html")], b"<!doctype html><p>other</p>"))


async def test_other_pages_of_this_browser_get_nothing() -> None:
    """Another port of this machine is another program: it can neither read, act nor embed, even with the token."""
    script = """async ([address, token]) => {
        const headers = {authorization: `Bearer ${token}`, "content-type": "application/json"};
        const tried = promise => promise.then(() => "done", () => "refused");
        const embedded = (tag, attribute, url) => new Promise(done => {
            const element = document.createElement(tag);
            element.onload = () => done("done");
            element.onerror = () => done("refused");
            element[attribute] = url;
            document.body.append(element);
        });
        return Promise.all([
            tried(fetch(`${address}/api/overview?token=${token}`)),
            tried(fetch(`${address}/api/overview`, {headers})),
            tried(fetch(`${address}/api/actions`, {method: "POST", headers, body: "{}"})),
            embedded("script", "src", `${address}/static/app.js`),
            embedded("img", "src", `${address}/static/icon.svg`),
        ]);
    }"""
    options = WebViewOptions(access=AccessRules(token=TOKEN))
    app = StatusApp(WebViewApp(showcase(RealClock()), options, RealClock()))
    async with (
        Server(app, clock=RealClock()) as ours,
        Server(OtherApp(), clock=RealClock()) as other,
        chromium() as browser,
    ):
        page = await browser.new_page()
        await page.goto(other.url)
        assert await page.evaluate(script, [ours.url, TOKEN]) == ["refused"] * 5
        assert app.statuses.keys() >= {"/api/overview", "/static/app.js", "/static/icon.svg"}
        assert {status for statuses in app.statuses.values() for status in statuses} == {403}
        await page.evaluate(
            "url => { document.body.append(Object.assign(document.createElement('iframe'), {src: url})) }", ours.url
        )
        frame = await page.wait_for_selector("iframe")
        inner = await frame.content_frame() if frame is not None else None
        assert inner is not None
        await inner.wait_for_load_state()
        assert await inner.locator("#app").count() == 0


async def test_a_lost_operator_is_reported_and_found_again() -> None:
    """Earlier content stays on the page, marked as old, until the operator is back."""
    operator = showcase(RealClock())
    async with AsyncExitStack() as running:
        server = await running.enter_async_context(served(operator))
        async with window(server.url, Look(at="#/objects/Website/shop/web")) as view:
            await view.see("Website shop/web is not ready")
            await running.aclose()
            await view.see("The operator does not answer")
            await view.see("Website shop/web is not ready")
            await view.see("Disconnected", ".side")
            operator.put(WEB, conditions=(READY,))
            async with served(operator, port=server.port):
                await view.see("Live", ".side")
                await view.see("Website shop/web is ready")


async def test_ten_thousand_objects_scroll_smoothly() -> None:
    """Only visible rows are in the document; filtering, sorting and jumping are fast."""
    async with viewed(many(RealClock(), 10_000), Look(at="#/objects")) as view:
        await view.see("10,000")
        assert await view.page.locator(".line").count() < 60
        perform = """async act => {
            const done = new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            const type = text => {
                const input = document.querySelector("#filter");
                input.value = text;
                input.dispatchEvent(new Event("input", {bubbles: true}));
            };
            if (act === "filter") type("site-0999");
            if (act === "clear") type("");
            if (act === "sort") document.querySelector(".col-last").click();
            if (act === "scroll") document.querySelector(".list-body").scrollTop = 200_000;
            await done;
        }"""
        took = dict[str, float]()
        for act in ("filter", "clear", "sort", "scroll"):
            before = await view.cpu_seconds()
            await view.run(perform, act)
            took[act] = await view.cpu_seconds() - before
        assert all(0 < seconds < 0.2 for seconds in took.values()), took
        assert await view.page.locator(".line").count() < 60
        assert await view.run("document.querySelector('.list-space').offsetHeight") == 400_000
        await view.page.keyboard.press("End")
        await view.page.locator('.line[aria-rowindex="10000"][aria-selected="true"]').wait_for()
        await view.page.fill("#filter", "team-07 backing")
        await view.see("of 10,000", "h1")
        assert await view.page.locator(".line .mark-bad").count() == await view.page.locator(".line").count() > 0
        await view.page.fill("#filter", "no such thing")
        await view.see("No object matches this filter.")
        await view.page.get_by_role("button", name="Clear the filter").click()
        await view.page.locator(".line").first.wait_for()


async def test_the_keyboard_is_sufficient() -> None:
    """j, k, enter, /, ?, u, numbers and escape."""
    async with viewed(showcase(RealClock())) as view:
        await view.see("need a look")
        press = view.page.keyboard.press
        await press("?")
        await view.page.get_by_role("dialog").wait_for()
        await press("Escape")
        await view.page.get_by_role("dialog").wait_for(state="detached")
        await press("j")
        await press("j")
        await press("k")
        await press("Enter")
        await view.see("Website shop/legacy is not ready")
        await press("u")
        await view.page.wait_for_selector(".line")
        await press("/")
        await view.page.wait_for_function("() => document.activeElement?.id === 'filter'")
        await view.page.keyboard.type("checkout")
        await view.page.wait_for_function("() => document.querySelectorAll('.line').length === 1")
        await press("Escape")
        await press("j")
        await press("Enter")
        await view.see("Website shop/checkout is not ready")
        await press("3")
        await view.see("Keys that are not idle")
        await press("5")
        await view.see("Settings of this run")


async def test_chinese_is_complete() -> None:
    """Every page in Chinese shows no English word of ours and no key of the dictionary."""
    async with viewed(showcase(RealClock()), Look(locale="zh-CN")) as view:
        await view.see("3 个对象需要关注")
        assert await view.run("document.documentElement.lang") == "zh"
        # Texts of the sample's objects are English, but none of them begins like a phrase of the page.
        phrases = [text for key, text in words("en").items() if text[0].isupper() and "{" not in text]
        english = [text for text in phrases if len(text) > 5 and text not in words("zh").values()]
        assert len(english) > 40
        for at in PAGES:
            await view.go(at)
            text = await view.text("body")
            assert [phrase for phrase in english if phrase in text] == []
            assert [key for key in words("en") if key in text] == []
        await view.go("#/objects/Website/shop/web")
        await view.see("Website shop/web 未就绪")
        await view.see("下次运行")
        await view.page.get_by_role("button", name="English").click()
        await view.see("Website shop/web is not ready")
        await view.page.reload()
        await view.see("Website shop/web is not ready")


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("width", [390, 760, 1280])
async def test_no_page_is_wider_than_its_screen(width: int, locale: str) -> None:
    """The phone of the person on call has 390 pixels."""
    async with viewed(showcase(RealClock()), Look(width=width, height=844, locale=locale)) as view:
        for at in PAGES:
            await view.go(at)
            assert await view.run("document.scrollingElement.scrollWidth") <= width, at
        await view.page.locator("nav a").nth(2).click()
        await view.page.wait_for_function("() => location.hash === '#/queues'")


async def test_dark_mode_follows_the_system() -> None:
    """Texts stay readable in both schemes."""
    contrast = """() => {
        const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = rgb => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => sum + part * linear(rgb[i] / 255), 0);
        const canvas = document.createElement("canvas").getContext("2d");
        const rgb = color => {
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const paper = light(rgb(getComputedStyle(document.body).backgroundColor));
        return [...document.querySelectorAll("main *")]
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3))
            .map(e => [light(rgb(getComputedStyle(e).color)), e.className, e.textContent.slice(0, 30)])
            .map(([ink, name, text]) => [(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), name, text])
            .filter(([ratio]) => ratio < 4.5);
    }"""
    papers = []
    for scheme in ("light", "dark"):
        async with viewed(showcase(RealClock()), Look(scheme="dark" if scheme == "dark" else "light")) as view:
            await view.see("need a look")
            assert await view.run(contrast) == []
            papers.append(await view.run("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(246, 245, 241)", "rgb(15, 20, 22)"]


async def test_a_page_that_fails_says_so_and_can_be_retried() -> None:
    """A bug of ours must not look like an operator without objects."""
    operator = showcase(RealClock())
    healthy = operator.summaries
    async with viewed(operator) as view:
        await view.see("need a look")

        def broken() -> list[ObjectSummary]:
            raise ZeroDivisionError

        operator.summaries = broken  # type: ignore[method-assign]
        await view.go("#/queues")  # it polls every two seconds; the lines computed before are reused for one
        await view.see("This page could not be loaded")
        await view.page.evaluate("() => { location.hash = '#/objects' }")
        await view.page.wait_for_selector(".page-objects .failed")
        await view.see("The operator answered with HTTP 500; its log says why.")
        operator.summaries = healthy  # type: ignore[method-assign]
        await view.page.get_by_role("button", name="Try again").click()
        await view.page.wait_for_selector(".line")


async def test_a_slow_answer_shows_placeholders() -> None:
    """An empty page would look broken; a fast answer must not flicker, so placeholders appear after a moment."""
    async with viewed(showcase(RealClock())) as view:
        await view.see("need a look")
        release = asyncio.Event()

        async def hold(route: "Route") -> None:
            await release.wait()
            await route.continue_()

        await view.page.route("**/api/objects", hold)
        await view.page.evaluate("() => { location.hash = '#/objects' }")
        await view.page.get_by_role("status", name="Loading").wait_for()
        release.set()
        await view.page.wait_for_selector(".line")


async def test_an_operator_without_objects_says_so() -> None:
    """It is the first thing that a new user sees."""
    async with viewed(SampleOperator(RealClock())) as view:
        await view.see("This operator has no objects yet.")
        await view.see("Nothing fails, nothing is stuck, nothing runs hot.")
        await view.go("#/objects")
        await view.see("Create an object, and it appears here.")
        await view.go("#/queues")
        await view.see("This operator has no caches.")
        await view.go("#/objects/Website/shop/none")
        await view.see("Website shop/none does not exist, or the operator does not watch it.")


async def test_texts_of_a_cluster_are_never_code() -> None:
    """A user who can name an object or write a message must not be able to run a script in the view."""
    evil = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
    operator = SampleOperator(RealClock())
    name = ObjectName("Website", "shop", "a<b>&\"'%2f")
    operator.put(name, conditions=(ConditionRecord("Ready", "False", "Evil", evil),))
    operator.run(name, result=Result.FAILED, message=evil)
    async with viewed(operator) as view:
        await view.see(evil)
        await view.go("#/objects")
        await view.page.locator(".line .col-message").first.click(force=True)
        await view.see(f"Website shop/{name.name} is not ready: {evil}")
        assert await view.page.locator("main img, main script").count() == 0
        assert "hacked" not in await view.page.title()


async def test_the_sentences_of_the_page_are_those_of_steer_why() -> None:
    """Chinese needs its own sentences; in English they must be the operator's, word for word."""
    operator = showcase(RealClock())
    now = operator.clock.now()
    states = [KeyState(phase, now + timedelta(hours=1) if phase is not KeyPhase.IDLE else None) for phase in KeyPhase]
    secrets = tuple(ObjectName("Secret", "shop", f"tls-{number}") for number in range(5))
    states += [KeyState(missing=secrets[:count]) for count in range(1, 6)]
    states.append(KeyState(KeyPhase.WAITING, now + timedelta(hours=1), secrets[0], missing=secrets[:1]))
    states.append(KeyState(KeyPhase.WAITING, None, secrets[0], missing=secrets[1:2]))
    for number, state in enumerate(states):
        operator.put(
            ObjectName("Thing", "", f"thing-{number}"), state=state, generation=2, observed_generation=number % 3
        )
        operator.run(ObjectName("Thing", "", f"thing-{number}"), number=1)
    operator.put(ObjectName("Thing", "", "failing"))
    for number in range(3):
        operator.run(ObjectName("Thing", "", "failing"), result=Result.FAILED, message="No.", failures_before=number)
    script = """async paths => {
        const [words, api] = await Promise.all([import("/static/sentences.js"), import("/static/api.js")]);
        return Promise.all(paths.map(async path => {
            const page = await api.get(path);
            return [page.sentence, words.sentence(page.view), page.next_run, words.nextRun(page.view)];
        }));
    }"""
    paths = [f"objects/{name.kind}/{name.namespace or '-'}/{name.name}" for name in operator.views]
    async with viewed(operator) as view:
        await view.see("need a look")
        sentences = await view.run(script, paths)
    assert len(sentences) > 30
    steady = re.compile(r"in (?:\d+ (?:h|min) )*(?:\d+(?:\.\d+)? (?:s|ms|min|h))|now")
    for expected, actual, expected_next, actual_next in sentences:
        assert actual == expected
        assert steady.sub("T", actual_next) == steady.sub("T", expected_next)
