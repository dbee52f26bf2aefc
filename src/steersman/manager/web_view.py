"""Serving the web view of a running operator. Without `Actions`, as in production, it shows and changes nothing."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from msgspec import Struct, field

from steersman.clock import Clock
from steersman.history.records import ObjectName
from steersman.history.state import Introspection
from steersman.manager.operator import Operator
from steersman.serving.server import Listen, Server
from steersman.webview.access import AccessRules
from steersman.webview.actions import Actions
from steersman.webview.plans import Plans

#: Requests a run of an object; returns whether an operator reconciles it.
ReconcileNow: TypeAlias = Callable[[ObjectName], bool]


class WebViewServing(Struct, frozen=True, kw_only=True):
    """Where the web view listens, and how it is accessed."""

    listen: Listen
    access: AccessRules
    #: Settings of the run by their names, without secrets; the page shows them.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Called with the address, which contains the token, when the page can be opened.
    on_ready: Callable[[str], None]
    #: Creates what a person may do from the page; ``None`` makes it read-only.
    make_actions: Callable[[ReconcileNow], Actions] | None = None
    #: Makes plans for the page; ``None`` leaves them out.
    plans: Plans | None = None


@asynccontextmanager
async def serving_web_view(
    serving: WebViewServing,
    source: Introspection,
    operators: Sequence[Operator],
    clock: Clock,
    actions: Actions | None = None,
) -> AsyncIterator[None]:
    """Serve the web view inside the block."""
    # Loaded here: most operators have no web view, and need neither the page nor the schema compiler.
    from steersman.manager.definitions import operator_definitions  # noqa: PLC0415 - see above
    from steersman.webview.app import WebViewApp, WebViewOptions  # noqa: PLC0415 - see above

    definitions = tuple(definition.content for definition in operator_definitions(operators))
    options = WebViewOptions(
        access=serving.access,
        settings=serving.settings,
        definitions=definitions,
        actions=actions,
        plans=serving.plans,
    )
    app = WebViewApp(source, options, clock)
    try:
        async with Server(app, clock=clock, listen=serving.listen) as server:
            serving.on_ready(f"{server.url}/#token={serving.access.token}")
            yield
    finally:
        app.close()
