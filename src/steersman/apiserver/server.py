"""`ApiServer`: a Kubernetes API in one object, for development and tests.

It is an `App`: it never sees a socket. ``serving.Server`` puts it on a port; a transport in the same process needs no
port.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from steersman.apiserver.access.authentication import Authentication
from steersman.apiserver.access.authorization import asked_of, forbidden_path, is_privileged, verb_asked
from steersman.apiserver.access.impersonation import Asked, Impersonation, wants_impersonation
from steersman.apiserver.access.rbac.aggregation import Aggregation
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.access.service_account_tokens import ServiceAccountTokens
from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.background.chores import Chores
from steersman.apiserver.background.definitions import DEFINITIONS, DefinitionCleaner
from steersman.apiserver.background.expiry import EventExpiry
from steersman.apiserver.background.hand import Hand
from steersman.apiserver.background.housekeeping import Housekeeper, Housekeeping, HousekeepingOptions, controllers
from steersman.apiserver.bootstrap import bootstrap
from steersman.apiserver.builtin.kind import ServerContext
from steersman.apiserver.builtin.registry import add_builtin_kinds
from steersman.apiserver.builtin.types import load_types
from steersman.apiserver.custom.conversion import Conversions
from steersman.apiserver.custom.definition_strategy import DEFINITION, DefinitionStrategy
from steersman.apiserver.custom.definitions import CustomResources
from steersman.apiserver.faults import Faults
from steersman.apiserver.http.dispatch import Verbs
from steersman.apiserver.http.endpoints import Endpoints
from steersman.apiserver.http.openapi import OpenApi
from steersman.apiserver.messages.api_request import Call, User
from steersman.apiserver.messages.info import MalformedTarget, Query, RequestInfo, parse_resource_path, split_target
from steersman.apiserver.messages.negotiation import negotiate, negotiate_without_tables
from steersman.apiserver.messages.options import check_timeout
from steersman.apiserver.messages.rendering import NOT_FOUND, Rendering, refusal_response, text_response
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.served import Served
from steersman.apiserver.status import Refusal, bad_request, method_not_allowed, no_such_resource
from steersman.apiserver.storage.store import Snapshot, Store
from steersman.apiserver.verbs.delete import Deleting
from steersman.apiserver.verbs.evict import Evicting
from steersman.apiserver.verbs.lifecycle import Lifecycle
from steersman.apiserver.verbs.patch import Patching
from steersman.apiserver.verbs.read import ReadingVerbs
from steersman.apiserver.verbs.reviews import Reviews
from steersman.apiserver.verbs.scale import Scaling
from steersman.apiserver.verbs.subresources import Subresources
from steersman.apiserver.verbs.token_requests import TokenRequests
from steersman.apiserver.verbs.watch import Watching
from steersman.apiserver.verbs.write import Writing
from steersman.apiserver.watch.hub import WatchHub
from steersman.apiserver.webhook_calls.replay import Tape, TapedRandomness, Waits
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.clock import Clock, RealClock
from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded
from steersman.randomness import Randomness

_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
#: How often a verb is run at most: once for each webhook that may change an object, and for each time it changed.
_MOST_ROUNDS = 200
_METHODS_ON_CUSTOM = {"PUT", "PATCH"}


class _Unheard:
    """An exchange whose answer nobody gets: what was asked is done, and the connection breaks."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def respond(self, response: Response) -> None:
        """Lose the answer."""

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Refuse to begin what cannot be heard."""
        raise Refusal(503, "ServiceUnavailable", f"the connection broke before the answer {status} {headers[:0]}")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Refuse to switch protocols."""
        raise Refusal(503, "ServiceUnavailable", f"the connection broke {headers[:0]}")

    def reset(self) -> None:
        """Do nothing: it is broken already."""


class _ActingAs:
    """A server as one user sees it."""

    def __init__(self, server: "ApiServer", user: User) -> None:
        self._server = server
        self._user = user

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request of the user."""
        return self._server.handle_as(self._user, request, exchange)


class ApiServer:
    """The whole server, in the memory of one process."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        tokens: Mapping[str, User] | None = None,
        ledger: Ledger | None = None,
        housekeeping: HousekeepingOptions | None = None,
        webhooks: WebhookOptions | None = None,
    ) -> None:
        self.clock = clock or RealClock()
        self.randomness = randomness or Randomness()
        self.catalog = Catalog()
        self.ledger = ledger or Ledger(Store(), self.clock)
        self.hub = WatchHub(self.ledger, self.clock)
        #: What tests can make go wrong.
        self.faults = Faults()
        self.rbac = Rbac(self.ledger)
        #: Issues the tokens of service accounts.
        self.tokens = ServiceAccountTokens(self.ledger, self.clock, self.randomness)
        self._authentication = Authentication(tokens, self.tokens)
        self._impersonation = Impersonation(self.rbac)
        self._chance = TapedRandomness(self.randomness)
        ownership = Ownership(self.catalog)
        self._conversions = Conversions(webhooks, self.randomness)
        self._custom = CustomResources(self.ledger, self.catalog, self.hub, ownership, self.clock, self._conversions)
        lifecycle = Lifecycle(self.ledger, self.catalog)
        self._admission = Admission(self.ledger, self.catalog, self.rbac, self.randomness, webhooks)
        self._writing = writing = Writing(self.ledger, ownership, lifecycle, self.clock, self._chance, self._admission)
        definitions = partial(DefinitionStrategy, follow=self._custom.changed)
        context = ServerContext(self.ledger, self._chance, now=writing.now)
        add_builtin_kinds(self.catalog, context, {DEFINITION: definitions})
        rendering = Rendering(self.ledger, self.clock)
        reading = ReadingVerbs(self.ledger)
        reading.lister.lag = lambda: self.faults.stale
        patching = Patching(self.ledger, writing, ownership)
        deleting = Deleting(self.ledger, self.clock, self._admission)
        subresources = Subresources(
            self.ledger,
            Scaling(self.ledger, self.catalog, writing),
            writing,
            patching,
            Evicting(self.ledger, self.catalog, deleting),
            rendering,
            tokens=TokenRequests(self.ledger, writing, self.tokens),
        )
        subresources.may_create = self._may_create
        #: Who serves the logs, shells and ports of pods, by the name of their node.
        self.nodes = subresources.nodes
        self._verbs = Verbs(
            reading=reading,
            writing=writing,
            patching=patching,
            deleting=deleting,
            watching=Watching(self.ledger, self.hub, rendering, self.clock, self.randomness),
            rendering=rendering,
            reviews=Reviews(writing, ownership, self._authentication, self.rbac),
            subresources=subresources,
        )
        self._endpoints = Endpoints(self.catalog, OpenApi(self.catalog, load_types), self.tokens)
        self._housekeeping = self._keep_house(Hand(self.ledger, self.catalog, writing, deleting), housekeeping)
        if self.ledger.store.count("namespaces"):
            self._custom.restore()
            self._admission.look_again()
        else:
            aggregates = housekeeping is not None
            bootstrap(self.ledger, self.catalog, self.clock, self.randomness, aggregates=aggregates)
        if housekeeping is not None:
            Aggregation(self.ledger, self.catalog, ownership, self.clock).follow()
        self._housekeeping.begin()

    def _keep_house(self, hand: Hand, options: HousekeepingOptions | None) -> Housekeeping:
        """Follow up on writes: what the API itself does always, what controllers do unless others do it."""
        chores = Chores()
        definitions, events = hand.served(DEFINITIONS), hand.served("events")
        assert definitions is not None and events is not None, "built in"  # noqa: S101, PT018 - the table has them
        keepers: list[Housekeeper] = [
            EventExpiry(self.ledger, events, self.clock),
            DefinitionCleaner(self.ledger, definitions, chores, self._custom.changed),
        ]
        if options is not None:
            keepers += controllers(hand, chores, options)
        housekeeping = Housekeeping(keepers, chores)
        self.ledger.observers.append(housekeeping.observe)
        return housekeeping

    async def settle(self) -> None:
        """Wait until everything that follows from writes is done, and everyone who watches has been offered it."""
        while self.hub.has_news or not self._housekeeping.is_idle:
            turned = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turned.set_result, None)
            await turned

    def snapshot(self) -> Snapshot:
        """Give all objects, to come back to; it takes microseconds."""
        return self.ledger.store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Come back to a snapshot: everyone who watches is cut off, custom resources are served as they were then."""
        self.hub.close_all()
        self.ledger.store.restore(snapshot)
        self.rbac.bindings.forget()
        self._admission.look_again()
        self._custom.restore()
        self._housekeeping.begin()

    def expire_history(self) -> None:
        """Forget what happened so far: who asks for it is told to list again."""
        self.ledger.store.expire_history()

    def __repr__(self) -> str:
        return f"<ApiServer version={self.ledger.version} watchers={len(self.hub)}>"

    def user_of(self, request: Request, peer: Peer) -> User | None:
        """Tell who sends a request; ``None`` for credentials that nobody has."""
        try:
            return self._authentication.user_of(request, peer)
        except Refusal:
            return None

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request; only what must wait returns something to wait for."""
        return self.handle_as(None, request, exchange)

    def handle_as(self, user: User | None, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request of a user who is known already, or else by the request's credentials."""
        if self.faults.is_active:
            return self._handle_with_faults(request, exchange, user)
        return self._handle(request, exchange, user)

    def _handle_with_faults(self, request: Request, exchange: Exchange, user: User | None) -> Awaitable[None] | None:
        self.faults.note(request)
        self.hub.interfere = self.faults.interfere if self.faults.has_watch_faults else None
        fault = self.faults.take(request)
        if fault is None:
            return self._handle(request, exchange, user)
        if fault.delay:
            return self._handle_late(fault.delay, request, exchange, user)
        if fault.refusal is not None:
            exchange.respond(refusal_response(request, Query(), fault.refusal))
            return None
        if fault.after and (work := self._handle(request, _Unheard(exchange.peer), user)) is not None:
            return self._finish_unheard(work, exchange)
        exchange.reset()
        return None

    @staticmethod
    async def _finish_unheard(work: Awaitable[None], exchange: Exchange) -> None:
        await work
        exchange.reset()

    async def _handle_late(self, seconds: float, request: Request, exchange: Exchange, user: User | None) -> None:
        await self.clock.sleep(seconds)
        work = self._handle(request, exchange, user)
        if work is not None:
            await work

    def acting_as(self, user: User) -> App:
        """Give the same server to one user: whatever they send is theirs, and needs no credentials."""
        return _ActingAs(self, user)

    def _handle(self, request: Request, exchange: Exchange, user: User | None = None) -> Awaitable[None] | None:
        query = Query()
        try:
            path, query = split_target(request.target)
            check_timeout(query)
            user = user or self._authentication.user_of(request, exchange.peer)
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

    def _page(self, request: Request, exchange: Exchange, path: str, query: Query, user: User) -> None:
        if not is_privileged(user):
            verb = request.method.lower()
            decision = self.rbac.decide_path(user, verb, path)
            if not decision.allowed:
                raise forbidden_path(user, verb, path, decision.reason)
        exchange.respond(self._endpoints.answer(request, path, query))

    def _resource(
        self, request: Request, exchange: Exchange, info: RequestInfo, query: Query, user: User
    ) -> Awaitable[None] | None:
        verb = self._verb(request.method, info, query)
        if not is_privileged(user):
            self._authorize(user, verb, info, query)
        served = self._served(info)
        if served is None:
            self._refuse_unknown(info)
            exchange.respond(NOT_FOUND)
            return None
        self._check_verb(request.method, verb, info, served)
        form = negotiate(request.headers.get("accept", ""), builtin=served.builtin)
        if form.transform == "Table" and self._verbs.reviews.handles(served.kind):
            form = negotiate_without_tables(request.headers["accept"])
        call = Call(request, info, query, served, user, form)
        if self._admission.is_active or served.is_converted:
            return self._run_patiently(verb, call, exchange)
        return self._run(verb, call, exchange)

    def _run(self, verb: str, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        try:
            return self._verbs.run(verb, call, exchange)
        except Refusal as refusal:
            self._refuse(call, exchange, refusal)
        except RecursionError:
            # Nothing was written: a write commits as its last step.
            self._refuse(call, exchange, bad_request("the document is nested too deeply for this server"))
        return None

    @staticmethod
    def _refuse(call: Call, exchange: Exchange, refusal: Refusal) -> None:
        deprecation = call.served.deprecation
        told = [deprecation, *call.warnings] if deprecation else call.warnings
        exchange.respond(refusal_response(call.request, call.query, refusal, told))

    def _run_patiently(self, verb: str, call: Call, exchange: Exchange) -> Awaitable[None] | None:
        """Run a verb that may have to wait for webhooks; what needs none is done at once all the same."""
        call.answers = {}
        tape = Tape(self._writing.now())
        try:
            with self._repeating(tape, call):
                return self._run(verb, call, exchange)
        except Waits as waits:
            return self._wait(waits, tape, verb, call, exchange)

    async def _wait(self, waits: Waits, tape: Tape, verb: str, call: Call, exchange: Exchange) -> None:
        """Run a verb again and again, until everyone has answered about what is there now."""
        for _ in range(_MOST_ROUNDS):
            await waits.answered()
            call.warnings.clear()
            try:
                with self._repeating(tape, call):
                    work = self._run(verb, call, exchange)
            except Waits as again:
                waits = again
                continue
            if work is not None:
                await work
            return
        why = "the object kept changing while webhooks were asked about it"
        self._refuse(call, exchange, call.served.conflict(call.info.name, why))

    @contextmanager
    def _repeating(self, tape: Tape, call: Call) -> Iterator[None]:
        """Run with what a request made up before, and with what others answered about it."""
        self._writing.frozen = tape.moment
        try:
            with self._chance.taped(tape), self._conversions.remembering(call.answers):
                yield
        finally:
            self._writing.frozen = ""

    def _authorize(self, user: User, verb: str, info: RequestInfo, query: Query) -> None:
        verb = verb_asked(verb, info)
        asked = asked_of(verb, info, query)
        self.rbac.demand(user, verb, asked)

    def _may_create(self, call: Call) -> bool:
        asked = asked_of("create", call.info, call.query)
        return is_privileged(call.user) or self.rbac.decide(call.user, "create", asked).allowed

    def _impersonated(self, user: User, request: Request, path: str, info: RequestInfo | None, query: Query) -> User:
        """Give whom a request acts as."""
        verb = request.method.lower()
        if info is not None:
            verb = verb_asked(self._verb(request.method, info, query), info)
            info = asked_of(verb, info, query)
        return self._impersonation.user_of(user, request.headers, Asked(verb, path, info))

    def _refuse_unknown(self, info: RequestInfo) -> None:
        """Refuse what is not served of a group that is; of another group there is not even a Status."""
        known = self.catalog.find(info.group, info.version, info.resource)
        if known is not None and not known.builtin and info.subresource in ("status", "scale"):
            raise known.not_found(info.name)
        if info.group == "" or any(served.builtin for served in self.catalog.resources(info.group, info.version)):
            raise no_such_resource()

    def _served(self, info: RequestInfo) -> Served | None:
        served = self.catalog.find(info.group, info.version, info.resource)
        if served is None or (info.rest and info.subresource != "proxy"):
            return None
        if info.subresource and info.subresource not in served.subresources:
            return None
        if info.in_namespace and info.namespace and not served.namespaced:
            return None
        return served

    @staticmethod
    def _verb(method: str, info: RequestInfo, query: Query) -> str:
        if not info.name:
            if method == "GET":
                return "watch" if info.watch or query.flag("watch") else "list"
            return _COLLECTION_VERBS.get(method, method.lower())
        if method == "GET" and info.watch:
            return "watch"
        return _OBJECT_VERBS.get(method, method.lower())

    @staticmethod
    def _check_verb(method: str, verb: str, info: RequestInfo, served: Served) -> None:
        """Refuse what a resource cannot do; built-in and custom resources have their own words."""
        if info.subresource:
            if verb not in served.subresources[info.subresource].verbs:
                raise method_not_allowed()
            return
        if not served.builtin:
            if not info.name and method in _METHODS_ON_CUSTOM:
                raise bad_request("name must be provided")
            if verb not in served.verbs or (served.namespaced and not info.namespace and verb == "create"):
                raise method_not_allowed()
            return
        needs_place = served.namespaced and not info.namespace and verb not in ("list", "watch")
        if verb not in served.verbs or needs_place or (info.name and method == "POST"):
            if info.name and "get" not in served.verbs and "create" in served.verbs and method == "POST":
                raise no_such_resource()
            raise method_not_allowed()
