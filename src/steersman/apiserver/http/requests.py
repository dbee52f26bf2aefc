"""From an HTTP request to the verb that answers it: who asks, for what, whether they may, and in which form.

The steps are those of kube-apiserver's handler chain, in its order: authentication, impersonation, authorization, then
whether the resource is served and knows the verb, then content negotiation. Only then a verb runs. Most verbs run once
and at once; one that needs a webhook is run again when the webhook has replied (see ``webhook_calls/replay``).
"""

from collections.abc import Awaitable
from dataclasses import dataclass

from msgspec.structs import replace

from steersman.apiserver.access.authentication import Authentication
from steersman.apiserver.access.authorization import asked_of, forbidden_path, is_privileged, verb_asked
from steersman.apiserver.access.impersonation import ImpersonatedAction, Impersonation, wants_impersonation
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.custom.conversion import Conversions
from steersman.apiserver.http.dispatch import Verbs
from steersman.apiserver.http.endpoints import Endpoints
from steersman.apiserver.http.metrics import MeasuredExchange, RequestMetrics
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import MalformedTarget, Query, RequestInfo, parse_resource_path, split_target
from steersman.apiserver.messages.negotiation import Form, negotiate, negotiate_without_tables
from steersman.apiserver.messages.options import check_timeout
from steersman.apiserver.messages.rendering import NOT_FOUND, refusal_response, text_response
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.request_context import RequestContexts, User
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, bad_request, method_not_allowed, no_such_resource
from steersman.apiserver.webhook_calls.replay import ReplayLog, Waits
from steersman.apiserver.webhook_calls.targets import trace_context
from steersman.protocol.http import Exchange, Request
from steersman.randomness import Randomness

_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
#: Subresources that are created and not stored.
_WITHOUT_TABLE = ("binding", "eviction", "token")
_METHODS_ON_CUSTOM = {"PUT", "PATCH"}
#: How often a verb is run at most: once for each webhook that may change an object, and for each time it changed.
_MOST_RUNS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHandler:
    """Answers every request of one server."""

    catalog: Catalog
    authentication: Authentication
    impersonation: Impersonation
    rbac: Rbac
    admission: Admission
    conversions: Conversions
    contexts: RequestContexts
    randomness: Randomness
    endpoints: Endpoints
    verbs: Verbs
    metrics: RequestMetrics

    def handle(self, request: Request, exchange: Exchange, user: User | None) -> Awaitable[None] | None:
        """Answer one request of a user, or else of the user whose credentials it carries."""
        query = Query()
        try:
            path, query = split_target(request.target)
            check_timeout(query)
            user = user or self.authentication.user_of(request, exchange.peer)
            info = parse_resource_path(path)
            if wants_impersonation(request.headers):
                user = self._impersonated(user, request, path, info, query)
            if info is None:
                self._page(request, exchange, path, query, user)
                return None
            return self._resource(request, exchange, info, query, user)
        except MalformedTarget:
            exchange.respond(text_response(400, "400 Bad Request"))
        except Refusal as refusal:
            exchange.respond(refusal_response(request, query, refusal))
        return None

    def _impersonated(self, user: User, request: Request, path: str, info: RequestInfo | None, query: Query) -> User:
        """Return the user as whom a request acts."""
        verb = request.method.lower()
        if info is not None:
            verb = verb_asked(_verb(request.method, info, query), info)
            info = asked_of(verb, info, query)
        return self.impersonation.user_of(user, request.headers, ImpersonatedAction(verb, path, info))

    def _page(self, request: Request, exchange: Exchange, path: str, query: Query, user: User) -> None:
        """Answer a request to a path that is not a resource: discovery, OpenAPI, health."""
        if not is_privileged(user):
            verb = request.method.lower()
            decision = self.rbac.decide_path(user, verb, path)
            if not decision.allowed:
                raise forbidden_path(user, verb, path, decision.reason)
        exchange.respond(self.endpoints.answer(request, path, query))

    def _resource(
        self, request: Request, exchange: Exchange, info: RequestInfo, query: Query, user: User
    ) -> Awaitable[None] | None:
        verb = _verb(request.method, info, query)
        served = self._served(info)
        if served is None:
            self._authorize(verb, info, query, user)
            self._reject_unknown(info)
            exchange.respond(NOT_FOUND)
            return None
        measured = self.metrics.measured(verb, request, info, query, exchange)
        try:
            self._authorize(verb, info, query, user)
            _check_verb(request.method, verb, info, served)
            form = self._form(request, info, served)
        except Refusal as refusal:
            measured.respond(refusal_response(request, query, refusal))
            return None
        asking = ApiRequest(request, info, query, served, self.contexts.of(user), form)
        if self.admission.is_active or served.is_converted:
            return self._run_until_answered(verb, asking, measured)
        return self._run(verb, asking, measured)

    def _authorize(self, verb: str, info: RequestInfo, query: Query, user: User) -> None:
        if not is_privileged(user):
            asked = verb_asked(verb, info)
            self.rbac.demand(user, asked, asked_of(asked, info, query))

    def _form(self, request: Request, info: RequestInfo, served: ServedResource) -> Form:
        form = negotiate(request.headers.get("accept", ""), builtin=served.builtin)
        has_no_table = info.subresource in _WITHOUT_TABLE or self.verbs.reviews.handles(served.kind)
        if form.transform == "Table" and has_no_table:
            return negotiate_without_tables(request.headers["accept"])
        return form

    def _run(self, verb: str, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        try:
            return self.verbs.run(verb, request, exchange)
        except Refusal as refusal:
            _reject(request, exchange, refusal)
        except RecursionError:
            # Nothing was written: a write commits as its last step.
            _reject(request, exchange, bad_request("the document is nested too deeply for this server"))
        return None

    def _run_until_answered(self, verb: str, request: ApiRequest, exchange: MeasuredExchange) -> Awaitable[None] | None:
        """Run a verb that may have to wait for webhooks; if it does not have to, it is done at once."""
        log = ReplayLog(self.randomness)
        try:
            return self._replay(log, verb, request, exchange)
        except Waits as waits:
            return self._wait(waits, log, verb, request, exchange)

    async def _wait(
        self, waits: Waits, log: ReplayLog, verb: str, request: ApiRequest, exchange: MeasuredExchange
    ) -> None:
        """Run a verb again until every webhook has replied about the objects as they are now."""
        try:
            await self._wait_for_replies(waits, log, verb, request, exchange)
        finally:
            exchange.end()

    async def _wait_for_replies(
        self, waits: Waits, log: ReplayLog, verb: str, request: ApiRequest, exchange: Exchange
    ) -> None:
        trace_context.set(request.http.headers.get("traceparent", ""))
        for _ in range(_MOST_RUNS):
            await waits.answered()
            try:
                work = self._replay(log, verb, request, exchange)
            except Waits as again:
                waits = again
                continue
            if work is not None:
                await work
            return
        why = "the object kept changing while webhooks were asked about it"
        _reject(request, exchange, request.served.conflict(request.info.name, why))

    def _replay(self, log: ReplayLog, verb: str, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Run a verb with the replies and the random values of its earlier runs."""
        context = replace(request.context, randomness=log.randomness(), answers=log.answers)
        with self.conversions.replaying(log.answers):
            return self._run(verb, replace(request, context=context), exchange)

    def _served(self, info: RequestInfo) -> ServedResource | None:
        served = self.catalog.find(info.group, info.version, info.resource)
        if served is None or (info.rest and info.subresource != "proxy"):
            return None
        if info.subresource and info.subresource not in served.subresources:
            return None
        if info.in_namespace and info.namespace and not served.namespaced:
            return None
        return served

    def _reject_unknown(self, info: RequestInfo) -> None:
        """Reject an unknown resource of a group that is served; other groups get a page without a Status."""
        known = self.catalog.find(info.group, info.version, info.resource)
        if known is not None and not known.builtin and info.subresource in ("status", "scale"):
            raise known.not_found(info.name)
        if info.group == "" or any(served.builtin for served in self.catalog.resources(info.group, info.version)):
            raise no_such_resource()


def _reject(request: ApiRequest, exchange: Exchange, refusal: Refusal) -> None:
    exchange.respond(refusal_response(request.http, request.query, refusal, request.served.deprecation))


def _verb(method: str, info: RequestInfo, query: Query) -> str:
    if not info.name:
        if method == "GET":
            return "watch" if info.watch or query.flag("watch") else "list"
        return _COLLECTION_VERBS.get(method, method.lower())
    if method == "GET" and info.watch:
        return "watch"
    return _OBJECT_VERBS.get(method, method.lower())


def _check_verb(method: str, verb: str, info: RequestInfo, served: ServedResource) -> None:
    """Reject a verb that a resource does not have; built-in and custom resources word that differently."""
    if served.builtin and served.namespaced and info.name and not info.namespace:
        raise no_such_resource()
    if info.subresource:
        if verb not in served.subresources[info.subresource].verbs:
            raise method_not_allowed()
        return
    if not served.builtin:
        _check_custom_verb(method, verb, info, served)
        return
    needs_namespace = served.namespaced and not info.namespace and verb not in ("list", "watch")
    is_misplaced = method == "POST" if info.name else method == "PATCH"
    if verb not in served.verbs or needs_namespace or is_misplaced:
        if info.name and "get" not in served.verbs and "create" in served.verbs and method == "POST":
            raise no_such_resource()
        raise method_not_allowed()


def _check_custom_verb(method: str, verb: str, info: RequestInfo, served: ServedResource) -> None:
    if not info.name and method in _METHODS_ON_CUSTOM:
        raise bad_request("name must be provided")
    if verb not in served.verbs or (served.namespaced and not info.namespace and verb == "create"):
        raise method_not_allowed()
