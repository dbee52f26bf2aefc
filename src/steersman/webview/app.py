"""The app of the web view: the page, its JSON and its live updates.

::

    GET  /                                      the page; every other file of it is below /static/
    GET  /api/overview                          the operator, its kinds, what needs a look, the newest runs
    GET  /api/objects                           every reconciled object, one line each
    GET  /api/objects/KIND/NAMESPACE/NAME       one object: sentence, next run, tree, timeline
    GET  /api/objects/KIND/NAMESPACE/NAME/yaml  the object itself, only with `Actions`
    GET  /api/objects/KIND/NAMESPACE/NAME/test  a recorded reconcile as a pytest; ?number=N chooses it
    GET  /api/queues                            queues and caches
    GET  /api/settings                          settings of the run
    GET  /api/stream                            server-sent events: `overview` every two seconds, `changed`
    GET  /api/kinds                             every field of every kind, with its constraints and rules
    POST /api/actions                           an `Action`, only with `Actions`
    POST /api/plan                              what the operator would do, only with `Plans`
    POST /api/check                             what the API server objects to in a YAML text, only with `Actions`

``-`` stands for the namespace of an object that has none. Every failure is JSON with one sentence: ``{"error": "…"}``.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import msgspec
from msgspec import Struct, json

from steersman.clock import Clock
from steersman.errors import SteersmanError
from steersman.history.records import ObjectName, Reconcile, ReconcileEnd
from steersman.history.state import Introspection, ObjectSummary
from steersman.protocol.http import Exchange, Request, Response
from steersman.webview.access import AccessRules, Refusal
from steersman.webview.actions import Action, Actions, decode_action
from steersman.webview.activity import Activity
from steersman.webview.documents import (
    SettingsDocument,
    object_document,
    overview_document,
    queues_document,
    saved_test,
)
from steersman.webview.files import static_files
from steersman.webview.kinds import KindLines, kind_lines
from steersman.webview.plans import Plans, decode_plan_request
from steersman.webview.stream import LiveUpdates

#: Nothing is loaded from elsewhere, nothing runs or styles inline, and the page is shown in no frame.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self'; "
    "connect-src 'self'; "
    "base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS: Final = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
]
_JSON: Final = [("content-type", "application/json"), *_HEADERS]
_EVENTS: Final = [("content-type", "text/event-stream"), *_HEADERS]
#: Runs that are counted when the view starts in the middle of an operator's life.
_COUNTED_AT_START: Final = 2000
#: Seconds for which the lines of all objects serve every client.
_SUMMARIES_FOR: Final = 1.0
_NO_NAMESPACE: Final = "-"
#: Where actions, texts to check and requests for plans are sent.
_ACTION_PATHS: Final = frozenset({"actions", "check", "plan"})


class WebViewOptions(Struct, frozen=True, kw_only=True):
    """Access rules, what is shown beside the operator's state, and the actions that are possible."""

    access: AccessRules
    #: Settings of the run by their names, as texts; the caller leaves out secrets.
    settings: Mapping[str, str] = {}
    #: The definitions (CRDs) of the kinds that the page about the API describes.
    definitions: tuple[Mapping[str, Any], ...] = ()
    #: What a person may do; ``None`` makes the view read-only.
    actions: Actions | None = None
    #: Makes plans; ``None`` leaves out the page about them.
    plans: Plans | None = None


class WebViewApp:
    """Answers the requests of browsers. Close it when its server has ended."""

    def __init__(self, source: Introspection, options: WebViewOptions, clock: Clock) -> None:
        self._source = source
        self._options = options
        self._clock = clock
        self._files = static_files()
        self._updates = LiveUpdates(source, clock)
        self._activity = Activity()
        for reconcile in source.history.newest(_COUNTED_AT_START):
            self._activity.add(reconcile.started.timestamp() + reconcile.seconds, failed=reconcile.is_failure)
        self._end_counting = source.history.listen_to_ends(self._count)
        #: The lines of all objects, and when they were made.
        self._summaries: tuple[float, list[ObjectSummary]] | None = None
        self._pages = {
            "overview": self._overview,
            "objects": self._objects,
            "queues": self._queues,
            "kinds": self._kinds,
            "settings": self._settings,
        }

    def __repr__(self) -> str:
        return f"<WebViewApp {'read-only' if self._options.actions is None else 'with actions'} {self._updates!r}>"

    def _count(self, end: Reconcile | ReconcileEnd) -> None:
        """Count a run that has just ended; its record need not be made for that."""
        self._activity.add(self._clock.now().timestamp(), failed=isinstance(end, Reconcile) and end.is_failure)

    def close(self) -> None:
        """Stop counting runs."""
        self._end_counting()

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request."""
        path = request.target.partition("?")[0]
        if path.startswith("/api/"):
            return self._handle_api(path.removeprefix("/api/"), request, exchange)
        exchange.respond(self._file(path, request))
        return None

    def _file(self, path: str, request: Request) -> Response:
        refusal = self._options.access.refuse_page(request)
        if refusal is not None:
            return _rejected(refusal)
        if request.method not in {"GET", "HEAD"}:
            return _not_changed(path, request)
        name = "index.html" if path == "/" else path.removeprefix("/static/")
        file = self._files.get(name)
        if file is None or path == f"/{name}":
            return _failure(404, f"There is no page {path}: the web view begins at /.")
        return Response(200, [("content-type", file.content_type), *_HEADERS], file.body)

    def _handle_api(self, path: str, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        access, actions = self._options.access, self._options.actions
        is_action = request.method == "POST" and (actions is not None or self._options.plans is not None)
        refusal = access.refuse_action(request) if is_action else access.refuse_data(request)
        if refusal is not None:
            exchange.respond(_rejected(refusal))
            return None
        if path in _ACTION_PATHS:
            return self._post(path, request, exchange)
        if request.method not in {"GET", "HEAD"}:
            exchange.respond(_not_changed(f"/api/{path}", request))
        elif path == "stream":
            self._stream(request, exchange)
        elif _part_of_object(path) == "yaml" and actions is not None:
            return self._yaml(actions, path, exchange)
        elif _part_of_object(path) == "test":
            exchange.respond(self._test(path.removesuffix("/test"), request))
        else:
            exchange.respond(self._page(path))
        return None

    def _post(self, path: str, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Begin what only POST begins: an action, the check of a text, a plan."""
        actions, plans = self._options.actions, self._options.plans
        is_post = request.method == "POST"
        if path == "plan" and plans is not None and is_post:
            return self._plan(plans, request, exchange)
        if path != "plan" and actions is not None and is_post:
            return (self._act if path == "actions" else self._check)(actions, request, exchange)
        if path == "plan" and plans is None:
            exchange.respond(_failure(404, "This web view makes no plans: run 'steer plan'."))
        else:
            exchange.respond(_no_action(request, is_possible=path == "plan" or actions is not None))
        return None

    def _page(self, path: str) -> Response:
        page = self._pages.get(path)
        if page is not None:
            return _document(page())
        name = self._object_name(path)
        if name is None:
            return _failure(404, f"The web view has no data named /api/{path}.")
        document = object_document(self._source, name)
        return _document(document) if document is not None else _no_object(name)

    def _test(self, path: str, request: Request) -> Response:
        name = self._object_name(path)
        if name is None:
            return _failure(404, f"The web view has no data named /api/{path}/test.")
        number = parse_qs(request.target.partition("?")[2]).get("number", [""])[0]
        document = saved_test(self._source, name, number)
        return _document(document) if document is not None else _failure(404, _not_recorded(name, number))

    def _stream(self, request: Request, exchange: Exchange) -> None:
        if request.method == "HEAD":
            exchange.respond(Response(200, _EVENTS))
        elif self._updates.is_full:
            exchange.respond(_failure(503, "Too many pages are open: close one, and this one connects again."))
        else:
            self._updates.attach(exchange.stream(200, _EVENTS))

    async def _yaml(self, actions: Actions, path: str, exchange: Exchange) -> None:
        name = self._object_name(path.removesuffix("/yaml"))
        try:
            text = await actions.document(name) if name is not None else None
        except (SteersmanError, ValueError) as error:
            exchange.respond(_failure(422, str(error)))
            return
        if text is not None:
            exchange.respond(_document({"yaml": text}))
        elif name is None:
            exchange.respond(_failure(404, f"The web view has no data named /api/{path}."))
        else:
            exchange.respond(_no_object(name))

    async def _act(self, actions: Actions, request: Request, exchange: Exchange) -> None:
        try:
            action: Action = decode_action(request.body)
        except msgspec.DecodeError as error:
            exchange.respond(_failure(400, f"This is not an action: {error}."))
            return
        name = str(action.__struct_config__.tag)
        if name not in actions.offered:
            exchange.respond(_failure(403, f"This operator does not offer the action {name}."))
            return
        try:
            exchange.respond(_document({"done": await actions.perform(action)}))
        except (SteersmanError, ValueError) as error:
            exchange.respond(_failure(422, str(error)))
        self._summaries = None

    async def _plan(self, plans: Plans, request: Request, exchange: Exchange) -> None:
        try:
            wanted = decode_plan_request(request.body or b"{}")
        except msgspec.DecodeError as error:
            exchange.respond(_failure(400, f"This is not a request for a plan: {error}."))
            return
        if wanted.text and self._options.actions is None:
            # The dry runs of a proposed object would have the permissions of the operator, not of the viewer.
            exchange.respond(_failure(403, "This web view is read-only: it plans what the operator does by itself."))
            return
        try:
            exchange.respond(Response(200, _JSON, await plans.plan(wanted)))
        except (SteersmanError, ValueError) as error:
            exchange.respond(_failure(422, str(error)))

    async def _check(self, actions: Actions, request: Request, exchange: Exchange) -> None:
        try:
            text = _decode_text(request.body).text
        except msgspec.DecodeError as error:
            exchange.respond(_failure(400, f"This is not a text to check: {error}."))
            return
        exchange.respond(_document({"problems": await actions.check(text)}))

    def _object_name(self, path: str) -> ObjectName | None:
        """Return the object that a path names; its kind may be spelled in any case, or as its plural."""
        name = _object_name(path)
        if name is None:
            return None
        overview = self._source.overview()
        names = {one.kind.lower(): one.kind for one in overview.caches}
        for one in overview.controllers:
            names |= {one.kind.lower(): one.kind, one.plural: one.kind}
        return name._replace(kind=names.get(name.kind.lower(), name.kind))

    def _overview(self) -> Struct:
        now = self._source.overview().now
        return overview_document(self._source, self._all_summaries(), self._activity.until(now))

    def _objects(self) -> list[ObjectSummary]:
        return self._all_summaries()

    def _queues(self) -> Struct:
        return queues_document(self._source, self._all_summaries())

    def _kinds(self) -> list[KindLines]:
        return [lines for definition in self._options.definitions for lines in kind_lines(definition)]

    def _settings(self) -> Struct:
        actions = self._options.actions
        limits = self._source.history.limits
        return SettingsDocument(
            overview=self._source.overview(),
            settings=self._options.settings,
            history_limits={"per_object": limits.per_object, "records": limits.records, "bytes": limits.bytes},
            actions=sorted(actions.offered) if actions is not None else [],
            plans=self._options.plans is not None,
            faults=actions.faults if actions is not None else (),
        )

    def _all_summaries(self) -> list[ObjectSummary]:
        """Return a line for every object; made at most once a second, however many pages are open."""
        now = self._clock.monotonic()
        if self._summaries is None or now - self._summaries[0] >= _SUMMARIES_FOR:
            self._summaries = now, self._source.summaries()
        return self._summaries[1]


class _Text(Struct, frozen=True):
    text: str


_decode_text = json.Decoder(_Text).decode


def _part_of_object(path: str) -> str:
    """Return what a path names beside an object; empty for the object itself, which may be called the same."""
    match path.split("/"):
        case ["objects", _, _, _, part]:
            return part
        case _:
            return ""


def _object_name(path: str) -> ObjectName | None:
    match path.split("/"):
        case ["objects", kind, namespace, name] if kind and namespace and name:
            place = unquote(namespace)
            plain, _, group = unquote(kind).partition(".")
            return ObjectName(plain, "" if place == _NO_NAMESPACE else place, unquote(name), group)
        case _:
            return None


def _document(value: Any) -> Response:
    return Response(200, _JSON, json.encode(value))


def _failure(status: int, message: str) -> Response:
    return Response(status, _JSON, json.encode({"error": message}))


def _rejected(refusal: Refusal) -> Response:
    return _failure(refusal.status, refusal.message)


def _no_object(name: ObjectName) -> Response:
    return _failure(404, f"{name} does not exist, or the operator does not watch it.")


def _not_recorded(name: ObjectName, number: str) -> str:
    what = f"Reconcile {number[:20]}" if number else "A reconcile"
    return f"{what} of {name} is not recorded: `steer dev` records, and `steer run --record`, the newest ones."


def _not_changed(path: str, request: Request) -> Response:
    return _not_allowed(
        "GET, HEAD", f"{path} cannot be changed: {request.method} is not allowed, only GET and HEAD are."
    )


def _no_action(request: Request, *, is_possible: bool) -> Response:
    if is_possible:
        path = request.target.partition("?")[0]
        return _not_allowed("POST", f"Actions are sent to {path} with POST, not with {request.method}.")
    return _not_allowed(
        "GET, HEAD", "This web view is read-only: objects are changed from the page in `steer dev` only."
    )


def _not_allowed(allowed: str, message: str) -> Response:
    return Response(405, [("allow", allowed), *_JSON], json.encode({"error": message}))
