"""The server itself: a Kubernetes API in one object, for development and tests.

It is an `App`: it never sees a socket. ``serving.Server`` puts it on a port; a transport in the same process needs no
port. This file only puts the parts together, in the order in which they depend on each other; start reading here:

    a request arrives      ``http/requests``       who asks for what, and whether they may
    a verb runs            ``verbs/``              ``write_path`` is the longest way, and explains itself
    the store changes      ``resources/object_store``
    watchers are told      ``watch/hub``
    controllers follow up  ``background/``
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import partial

from steersman.apiserver.access.authentication import Authentication
from steersman.apiserver.access.authorization import may_create
from steersman.apiserver.access.impersonation import Impersonation
from steersman.apiserver.access.rbac.aggregation import Aggregation
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.access.service_account_tokens import ServiceAccountTokens
from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.background.controllers import (
    BackgroundController,
    BackgroundControllers,
    ControllerOptions,
    manager_controllers,
)
from steersman.apiserver.background.definitions import DEFINITIONS, DefinitionCleaner
from steersman.apiserver.background.expiry import EventExpiry
from steersman.apiserver.background.internal_client import InternalClient
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.bootstrap import bootstrap, publish_endpoint
from steersman.apiserver.builtin.kind import ServerContext
from steersman.apiserver.builtin.registry import add_builtin_kinds
from steersman.apiserver.builtin.types import load_types
from steersman.apiserver.custom.conversion import Conversions
from steersman.apiserver.custom.definition_strategy import DEFINITION, DefinitionStrategy
from steersman.apiserver.custom.definitions import CustomResources
from steersman.apiserver.faults import FaultInjection, Faults
from steersman.apiserver.http.dispatch import Verbs
from steersman.apiserver.http.endpoints import Endpoints
from steersman.apiserver.http.metrics import RequestMetrics
from steersman.apiserver.http.openapi import OpenApi
from steersman.apiserver.http.requests import RequestHandler
from steersman.apiserver.messages.rendering import Rendering
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.request_context import RequestContexts, User
from steersman.apiserver.status import Refusal
from steersman.apiserver.storage.store import Snapshot, Store
from steersman.apiserver.verbs.apply import Applying
from steersman.apiserver.verbs.bind import Binding
from steersman.apiserver.verbs.create_update import CreateAndUpdate
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
from steersman.apiserver.verbs.write_path import ObjectWriter
from steersman.apiserver.watch.hub import WatchHub
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.clock import Clock, RealClock
from steersman.json_types import JsonObject
from steersman.protocol.http import App, Exchange, Peer, Request
from steersman.randomness import Randomness


@dataclass(frozen=True, slots=True)
class _ActingAs:
    """The server as one user reaches it."""

    server: "ApiServer"
    user: User

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request of the user."""
        return self.server.handle_as(self.user, request, exchange)


class ApiServer:
    """The whole server, in the memory of one process."""

    def __init__(  # noqa: PLR0913 - the options of a server, by name
        self,
        *,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        tokens: Mapping[str, User] | None = None,
        objects: ObjectStore | None = None,
        controllers: ControllerOptions | None = None,
        webhooks: WebhookOptions | None = None,
        accounts_key: bytes | None = None,
    ) -> None:
        self.clock = clock = clock or RealClock()
        self.randomness = randomness = randomness or Randomness()
        #: Failures that tests ask for.
        self.faults = faults = Faults()

        # The stored objects, and the listeners to their changes.
        self.objects = objects = objects or ObjectStore(Store(), clock)
        self.hub = WatchHub(objects, clock, lambda: faults.interference)

        # Who may do what.
        self.rbac = Rbac(objects)
        #: Issues the tokens of service accounts.
        self.tokens = ServiceAccountTokens(objects, clock, randomness, accounts_key)
        self._authentication = Authentication(tokens, self.tokens)

        # What is served: built-in kinds, and the custom resources that definitions add.
        self.catalog = catalog = Catalog()
        ownership = Ownership(catalog)
        conversions = Conversions(webhooks, randomness)
        self._custom = CustomResources(objects, catalog, self.hub, ownership, clock, conversions)
        definitions = partial(DefinitionStrategy, follow=self._custom.changed)
        add_builtin_kinds(catalog, ServerContext(objects, controllers is not None), {DEFINITION: definitions})

        # The verbs.
        contexts = RequestContexts(clock, randomness)
        self._admission = admission = Admission(objects, catalog, self.rbac, randomness, webhooks)
        writer = ObjectWriter(objects, ownership, Lifecycle(objects, catalog), admission)
        writing = CreateAndUpdate(objects, writer)
        patching = Patching(objects, writer, Applying(objects, writer, ownership))
        deleting = Deleting(objects, admission)
        rendering = Rendering(objects, clock)
        binding = Binding(objects, catalog, admission)
        subresources = Subresources(
            objects,
            admission,
            rendering,
            scaling=Scaling(objects, catalog, writer, admission),
            writing=writing,
            patching=patching,
            evicting=Evicting(objects, catalog, deleting),
            binding=binding,
            tokens=TokenRequests(objects, admission, self.tokens),
            may_create=partial(may_create, self.rbac),
        )
        #: Programs that serve the logs, shells and ports of pods, by the name of their node.
        self.nodes = subresources.nodes
        verbs = Verbs(
            reading=ReadingVerbs(objects, lambda: faults.stale),
            writing=writing,
            patching=patching,
            deleting=deleting,
            watching=Watching(objects, self.hub, rendering, clock, randomness),
            rendering=rendering,
            reviews=Reviews(ownership, self._authentication, self.rbac),
            binding=binding,
            subresources=subresources,
        )

        # The way from a request to its verb.
        metrics = RequestMetrics(clock)
        metrics_text = partial(metrics.text, objects, self.hub)
        self._requests = RequestHandler(
            catalog=catalog,
            authentication=self._authentication,
            impersonation=Impersonation(self.rbac),
            rbac=self.rbac,
            admission=admission,
            conversions=conversions,
            contexts=contexts,
            randomness=randomness,
            endpoints=Endpoints(catalog, OpenApi(catalog, load_types), self.tokens, metrics_text),
            verbs=verbs,
            metrics=metrics,
        )
        self._fault_injection = FaultInjection(faults, clock, self._requests.handle)

        # What the server does on its own, and the first objects.
        client = InternalClient(objects, catalog, contexts, writer, deleting)
        self._controllers = self._background_controllers(client, controllers)
        objects.observers.append(self._controllers.observe)
        if objects.store.count("namespaces"):
            self._custom.restore()
            admission.look_again()
        else:
            bootstrap(objects, catalog, clock, randomness, aggregates=controllers is not None)
        if controllers is not None:
            Aggregation(objects, catalog, ownership, clock).follow()
        self._controllers.start()

    def _background_controllers(
        self, client: InternalClient, options: ControllerOptions | None
    ) -> BackgroundControllers:
        """Return the controllers that run in the server; with options also those of a kube-controller-manager."""
        tasks = BackgroundTasks()
        definitions, events = client.served(DEFINITIONS), client.served("events")
        assert definitions is not None and events is not None, "built in"  # noqa: S101, PT018 - the table has them
        controllers: list[BackgroundController] = [
            EventExpiry(self.objects, events, self.clock),
            DefinitionCleaner(self.objects, definitions, tasks, self._custom.changed),
        ]
        if options is not None:
            controllers += manager_controllers(client, tasks, options)
        return BackgroundControllers(controllers, tasks)

    def __repr__(self) -> str:
        return f"<ApiServer version={self.objects.version} watchers={len(self.hub)}>"

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request; return something to wait for only if the response takes time."""
        return self.handle_as(None, request, exchange)

    def handle_as(self, user: User | None, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request of a user who is known already, or else by the request's credentials."""
        handler = self._fault_injection if self.faults.is_active else self._requests
        return handler.handle(request, exchange, user)

    def acting_as(self, user: User) -> App:
        """Return the server as one user reaches it: their requests need no credentials."""
        return _ActingAs(self, user)

    def user_of(self, request: Request, peer: Peer) -> User | None:
        """Return the user who sends a request; ``None`` for unknown credentials."""
        try:
            return self._authentication.user_of(request, peer)
        except Refusal:
            return None

    def publish_address(self, host: str, port: int) -> None:
        """Write where the server is reached into the endpoints of the Service ``kubernetes``."""
        publish_endpoint(self.objects, self.catalog, self.clock, self.randomness, (host, port))

    def serve_definition(self, definition: JsonObject) -> None:
        """Serve the objects of a definition without storing or validating it, such as one that another server has."""
        self._custom.serve(definition)

    async def settle(self) -> None:
        """Wait until the controllers have handled all writes, and all events were offered to the watchers."""
        while self.hub.has_news or not self._controllers.is_idle:
            turned = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turned.set_result, None)
            await turned

    def snapshot(self) -> Snapshot:
        """Return all objects, for `restore`; it takes microseconds."""
        return self.objects.store.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot: all watches end, and custom resources are served as they were then."""
        self.hub.close_all()
        self.objects.store.restore(snapshot)
        self.rbac.bindings.forget()
        self._admission.look_again()
        self._custom.restore()
        self._controllers.start()

    def expire_history(self) -> None:
        """Drop all events so far, so that clients that watch from an older version must list again."""
        self.objects.store.expire_history()
