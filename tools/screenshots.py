"""Write the pictures of the web view: a sample operator in a real Chromium, by ``make screenshots``.

Pictures are of one fixed moment, so that they stay the same while the page does.
"""

import asyncio
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from playwright.async_api import Browser, async_playwright

from steersman.clock import RealClock
from steersman.schema.crd import crd_of
from steersman.serving.server import Server
from steersman.testing.fake_clock import FakeClock
from steersman.webview.access import AccessRules, new_token, view_url
from steersman.webview.app import WebViewApp, WebViewOptions
from tests.webview.sample import many, showcase
from tests.webview.sample_kinds import Website
from tests.webview.sample_plan import SamplePlans

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOMENT = datetime(2026, 11, 16, 12, 37, 55, 200_000, tzinfo=UTC)
#: The second and third draw letters alike on every machine and every time.
FLAGS = ["--no-sandbox", "--disable-lcd-text", "--font-render-hinting=none"]
SETTINGS = {"workers": "Website 8, Database 2", "resync": "10 min", "log level": "info", "webhooks": "127.0.0.1:9443"}


#: The page about plans shows one only when its button is pressed.
PLAN = "#/plan"


class Picture(Struct, frozen=True, kw_only=True):
    """One picture: a page at a width, in a colour scheme and a language."""

    name: str
    page: str
    width: int = 1280
    height: int = 860
    scheme: str = "light"
    language: str = "en"
    objects: int = 0


PICTURES = (
    Picture(name="webview-overview", page="#/"),
    Picture(name="webview-overview-dark", page="#/", scheme="dark"),
    Picture(name="webview-objects", page="#/objects", objects=10_000),
    Picture(name="webview-object", page="#/objects/Website/shop/web"),
    Picture(name="webview-object-dark-zh", page="#/objects/Website/shop/web", scheme="dark", language="zh"),
    Picture(name="webview-queues", page="#/queues"),
    Picture(name="webview-api", page="#/api"),
    Picture(name="webview-plan", page="#/plan"),
    Picture(name="webview-settings", page="#/settings"),
    Picture(name="webview-overview-390", page="#/", width=390, height=844),
    Picture(name="webview-objects-390", page="#/objects", width=390, height=844),
    Picture(name="webview-object-390", page="#/objects/Website/shop/web", width=390, height=844, scheme="dark"),
    Picture(name="webview-queues-390", page="#/queues", width=390, height=844, language="zh"),
)


async def take(browser: Browser, picture: Picture, folder: Path) -> None:
    """Serve the sample operator and write one picture of it."""
    clock = FakeClock(MOMENT)
    operator = many(clock, picture.objects) if picture.objects else showcase(clock)
    token = new_token()
    plans = SamplePlans() if picture.page == PLAN else None
    options = WebViewOptions(
        access=AccessRules(token=token), settings=SETTINGS, definitions=(crd_of(Website),), plans=plans
    )
    app = WebViewApp(operator, options, RealClock())
    async with Server(app, clock=RealClock()) as server, AsyncExitStack() as stack:
        context = await browser.new_context(
            viewport={"width": picture.width, "height": picture.height},
            color_scheme="dark" if picture.scheme == "dark" else "light",
            locale="zh-CN" if picture.language == "zh" else "en-GB",
            timezone_id="UTC",
            reduced_motion="reduce",
        )
        stack.push_async_callback(context.close)
        page = await context.new_page()
        await page.clock.set_fixed_time(MOMENT)
        await page.goto(view_url(server.url, token).replace("#token", f"{picture.page}?token"))
        await page.wait_for_selector("main h1")
        await page.wait_for_selector(".link-live")
        await page.evaluate("() => document.fonts.ready")
        if picture.page == PLAN:
            await page.locator("main .primary").click()
            await page.wait_for_selector(".plan")
        await page.screenshot(path=folder / f"{picture.name}.png")


def shrink(paths: list[Path]) -> None:
    """Reduce the colours of the pictures to a palette: a third of the size without a visible difference."""
    pngquant = shutil.which("pngquant")
    if pngquant is None:
        print("pngquant is not installed: the pictures are larger than they need to be", file=sys.stderr)
        return
    subprocess.run([pngquant, "--force", "--strip", "--skip-if-larger", "--ext", ".png", *map(str, paths)], check=True)  # noqa: S603 - our own files


async def main(folder: Path, wanted: list[str]) -> None:
    """Write every picture, or those that are named."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for picture in PICTURES:
            if not wanted or picture.name in wanted:
                await take(browser, picture, folder)
        await browser.close()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(IMAGES, sys.argv[1:]))
    written = [IMAGES / f"{one.name}.png" for one in PICTURES if not sys.argv[1:] or one.name in sys.argv[1:]]
    shrink(written)
    for path in written:
        print(path.name, path.stat().st_size)
