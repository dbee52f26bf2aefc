"""A real Chromium with the web view open in it."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import pytest

from steersman.clock import RealClock
from steersman.history.state import Introspection
from steersman.schema.crd import crd_of
from steersman.serving.server import Listen, Server
from steersman.webview.access import AccessRules
from steersman.webview.actions import Actions
from steersman.webview.app import WebViewApp, WebViewOptions
from steersman.webview.plans import Plans
from tests.webview.sample_kinds import Website

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page

TOKEN = "correct-horse-battery-staple"
needs_chromium = pytest.mark.skipif(
    not os.environ.get("STEERSMAN_WEB"), reason="needs Chromium and Playwright: make test-web"
)


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the view is opened: the first page, the size of the screen, the language."""

    at: str = "#/"
    width: int = 1280
    height: int = 860
    scheme: Literal["light", "dark"] = "light"
    locale: str = "en-GB"
    token: str = TOKEN


@dataclass
class Window:
    """A browser window, and its errors."""

    page: "Page"
    url: str
    #: Errors that scripts raised, and what the content security policy blocked.
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _session: "CDPSession | None" = None

    async def go(self, at: str) -> None:
        """Go to a page and wait until it is shown."""
        await self.page.evaluate("at => { location.hash = at }", at)
        await self.page.wait_for_function("at => location.hash === at", arg=at)
        await self.page.wait_for_selector("main h1, main .empty")

    async def text(self, selector: str = "main") -> str:
        """Return the visible text of an element."""
        return await self.page.inner_text(selector)

    async def see(self, text: str, selector: str = "main") -> None:
        """Wait until an element shows a text."""
        await self.page.locator(selector, has_text=text).first.wait_for(timeout=20_000)

    async def run(self, script: str, argument: Any = None) -> Any:
        """Return what a script of the page's own world returns."""
        return await self.page.evaluate(script, argument)

    async def cpu_seconds(self) -> float:
        """Return the CPU time of the page's thread so far: that of a busy machine is not longer."""
        if self._session is None:
            self._session = await self.page.context.new_cdp_session(self.page)
            await self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        metrics = (await self._session.send("Performance.getMetrics"))["metrics"]
        return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def served(
    source: Introspection, actions: Actions | None = None, *, plans: Plans | None = None, port: int = 0
) -> Server:
    """Return a server of the view; enter it to serve."""
    options = WebViewOptions(
        access=AccessRules(token=TOKEN),
        settings={"workers": "8"},
        definitions=(crd_of(Website),),
        actions=actions,
        plans=plans,
    )
    return Server(WebViewApp(source, options, RealClock()), clock=RealClock(), listen=Listen(port=port))


@asynccontextmanager
async def chromium() -> AsyncIterator["Browser"]:
    """Start a browser of its own for the block."""
    from playwright.async_api import async_playwright  # noqa: PLC0415 - installed by `make test-web` only

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def window(url: str, look: Look) -> AsyncIterator[Window]:
    """Open a browser window at an address; leaving the block fails if a script did."""
    async with chromium() as browser:
        context = await browser.new_context(
            viewport={"width": look.width, "height": look.height},
            color_scheme=look.scheme,
            locale=look.locale,
            timezone_id="UTC",
        )
        opened = Window(await context.new_page(), url)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on("console", lambda line: opened.errors.append(line.text) if line.type == "error" else None)
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        separator = "&" if "?" in look.at else "?"
        await opened.page.goto(f"{url}/{look.at}{separator}token={look.token}")
        yield opened
    unexpected = [error for error in opened.errors if not error.startswith("Failed to load resource")]
    assert unexpected == []
    assert {urlsplit(one).netloc for one in opened.requests} == {urlsplit(url).netloc}


@asynccontextmanager
async def viewed(
    source: Introspection, look: Look | None = None, actions: Actions | None = None, plans: Plans | None = None
) -> AsyncIterator[Window]:
    """Serve the view of an operator and open it."""
    async with served(source, actions, plans=plans) as server, window(server.url, look or Look()) as opened:
        yield opened
