"""Send requests to the web view without a socket."""

import asyncio
from typing import Any

from msgspec import json

from steersman.history.state import Introspection
from steersman.protocol.http import Request, Response
from steersman.testing.fake_clock import FakeClock
from steersman.webview.access import AccessRules
from steersman.webview.actions import Actions
from steersman.webview.app import WebViewApp, WebViewOptions
from tests.support.fake_exchange import FakeExchange

TOKEN = "correct-horse-battery-staple"
HOST = "127.0.0.1:8080"


def view_of(source: Introspection, actions: Actions | None = None, **options: Any) -> WebViewApp:
    """Return the app of a web view."""
    chosen = WebViewOptions(access=AccessRules(token=TOKEN), actions=actions, **options)
    return WebViewApp(source, chosen, FakeClock())


def request(target: str, *, method: str = "GET", body: bytes = b"", **headers: str | None) -> Request:
    """Return a request as the page sends it; a header that is ``None`` is left out."""
    values: dict[str, str | None] = {"host": HOST, "authorization": f"Bearer {TOKEN}"}
    if method == "POST":
        values |= {"content-type": "application/json", "origin": f"http://{HOST}"}
    values |= {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, target, {name: value for name, value in values.items() if value is not None}, body)


def ask(app: WebViewApp, target: str, **options: Any) -> Response:
    """Return the answer to a request."""
    exchange = FakeExchange()
    work = app.handle(request(target, **options), exchange)
    if work is not None:
        asyncio.run(_finish(work))
    assert exchange.response is not None
    return exchange.response


async def _finish(work: Any) -> None:
    await work


def document(app: WebViewApp, target: str, **options: Any) -> Any:
    """Return the JSON of a page."""
    response = ask(app, target, **options)
    assert response.status == 200, response.body
    return json.decode(response.body)


def error(response: Response) -> str:
    """Return the sentence of a failure."""
    text: str = json.decode(response.body)["error"]
    return text
