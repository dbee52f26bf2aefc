"""`OperatorWebhooks`: the webhooks and conversions of operators, served and registered with the API server.

Order matters at both ends. ``serving`` opens the listener first, because the address may be known only then;
``registered`` then installs the configurations that lead to it and publishes the CA bundle. At the end the
configurations of this process are deleted before the listener closes, so that the API server does not call a closed
port.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.concurrency import background, cleanup
from steersman.errors import NotFound, SteersmanError
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import KubeObject, Resource, Unstructured, resource_of
from steersman.schema.conversions import has_conversions
from steersman.schema.declaration import is_custom
from steersman.webhook.declarations import WebhookOwner
from steersman.webhook.registration.configurations import CONVERSION_PATH, configuration_objects
from steersman.webhook.registration.trust import DEFINITION, configuration_change, definition_change
from steersman.webhook.reviews.review_handler import ReviewHandler
from steersman.webhook.serving.listener import ServedWebhooks, WebhookListener
from steersman.webhook.serving.routes import OnCall, Routes

#: Returns what to apply to an existing object so that a CA bundle is trusted; ``None`` if it is trusted already.
_Change = Callable[[JsonObject, bytes], JsonObject | None]

_log = logging.getLogger("steersman.webhook")
#: Seconds to wait for the deletion of configurations at the end.
_DELETE_TIMEOUT: Final = 5.0


def need_webhooks(operators: Sequence[WebhookOwner]) -> bool:
    """Return whether any operator declares a webhook or a conversion; loads no schemas."""
    return any(operator.webhooks for operator in operators) or bool(converted_kinds(operators))


def converted_kinds(operators: Sequence[WebhookOwner]) -> list[type[KubeObject]]:
    """Return the custom kinds of operators that have a version with a conversion function."""
    kinds: dict[tuple[str, str], list[type[Resource[Any, Any]]]] = {}
    for kind in dict.fromkeys(kind for operator in operators for kind in operator.kinds):
        if is_custom(kind) and issubclass(kind, Resource):
            gvk = resource_of(kind).gvk
            kinds.setdefault((gvk.group, gvk.kind), []).append(kind)
    return [kind for versions in kinds.values() if has_conversions(versions) for kind in versions]


def converted_definitions(operators: Sequence[WebhookOwner]) -> list[str]:
    """Return the names of the CRDs of those kinds."""
    resources = [resource_of(kind) for kind in converted_kinds(operators)]
    return list(dict.fromkeys(f"{resource.plural}.{resource.gvk.group}" for resource in resources))


class OperatorWebhooks:
    """The webhooks of some operators behind one listener."""

    def __init__(
        self,
        operators: Sequence[WebhookOwner],
        listener: WebhookListener,
        client_of: Callable[[str], Client],
        *,
        installer_of: Callable[[str], Client],
        clock: Clock,
        on_call: OnCall | None = None,
    ) -> None:
        self._operators = tuple(operators)
        self._on_call = on_call
        self._listener = listener
        self._client_of = client_of
        #: Returns the client that installs configurations, by the operator's name.
        self._installer_of = installer_of
        self._clock = clock
        #: Reviews under way, by the path of their webhook.
        self.active: Mapping[str, int] = {}

    def __repr__(self) -> str:
        return f"<OperatorWebhooks of {[operator.name for operator in self._operators]}>"

    def routes(self) -> Routes:
        """Return the routes of every webhook and of the conversions between versions."""
        routes = Routes(self._clock, self._on_call)
        for operator in self._operators:
            client = self._client_of(operator.name)
            for webhook in operator.webhooks:
                routes.mount(webhook.path(operator.name), ReviewHandler(webhook, client).review)
        if kinds := converted_kinds(self._operators):
            # Imported here: most operators have one version, and the schema modules are slow to import.
            from steersman.webhook.reviews.conversion import Conversions  # noqa: PLC0415 - see above

            conversions = Conversions(kinds, is_checked=not self._listener.checks_conversions)
            routes.mount(CONVERSION_PATH, conversions.review)
        return routes

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ServedWebhooks]:
        """Serve reviews inside the block; nothing is registered with the API server yet."""
        client = self._client_of(self._operators[0].name)
        routes = self.routes()
        self.active = routes.active
        async with self._listener.serving(routes, client, clock=self._clock) as served:
            yield served

    @asynccontextmanager
    async def registered(self, served: ServedWebhooks) -> AsyncIterator[None]:
        """Register the webhooks with the API server inside the block, and keep the CA bundle that it trusts current."""
        targets: list[_TrustTarget] = []
        async with AsyncExitStack() as stack:
            # The client that installs the configurations also sets their CA bundle; without installation it is the
            # operator's own client.
            client_of = self._installer_of if self._listener.installs else self._client_of
            for operator in self._operators:
                client = client_of(operator.name)
                for configuration in configuration_objects(operator.name, operator.webhooks, served.address):
                    if self._listener.installs:
                        await stack.enter_async_context(self._installed(client, configuration))
                    targets.append(_configuration_target(client, configuration))
            client = client_of(self._operators[0].name)
            definitions = converted_definitions(self._operators)
            targets += [_TrustTarget(client, DEFINITION, name, definition_change) for name in definitions]

            async def publish(authority: bytes) -> None:
                problems = [await target.trust(authority) for target in targets if authority]
                for problem in problems:
                    if problem is not None:
                        raise problem

            try:
                await publish(served.authority)
            except SteersmanError as error:
                _log.warning("cannot set the CA bundle of the webhooks", extra={"error": str(error)})
            await stack.enter_async_context(background(served.keep(publish), name="certificates"))
            yield

    @asynccontextmanager
    async def _installed(self, client: Client, configuration: JsonObject) -> AsyncIterator[None]:
        """Apply a configuration that leads to this process, and delete it at the end."""
        obj = Unstructured(configuration)
        await client.apply(obj, force=True)
        try:
            yield
        finally:
            await cleanup(_delete(client, obj), clock=self._clock, within=_DELETE_TIMEOUT)


@dataclass(frozen=True, slots=True)
class _TrustTarget:
    """An object with a CA bundle: a webhook configuration, or a CRD with a conversion webhook."""

    client: Client
    gvk: GroupVersionKind
    name: str
    change: _Change

    async def trust(self, authority: bytes) -> SteersmanError | None:
        """Set the CA bundle under a field manager of its own; return the error if that fails.

        A missing object is not an error: it is looked for again at the next renewal.
        """
        try:
            found = await self.client.get(self.gvk, self.name)
            change = self.change(found.content, authority)
            if change is not None:
                manager = f"{self.client.field_manager}-certificates"
                await self.client.as_manager(manager).apply(Unstructured(change), force=True)
        except NotFound:
            _log.warning("the webhooks are not registered yet", extra={"missing": f"{self.gvk.kind} {self.name}"})
        except SteersmanError as error:
            return error
        return None


def _configuration_target(client: Client, configuration: JsonObject) -> _TrustTarget:
    obj = Unstructured(configuration)
    names = [entry["name"] for entry in configuration["webhooks"]]
    return _TrustTarget(
        client, obj.gvk, obj.name, lambda found, authority: configuration_change(found, names, authority)
    )


async def _delete(client: Client, obj: Unstructured) -> None:
    """Delete a configuration unless another process has replaced it by its own."""
    try:
        found = await client.try_get(obj.gvk, obj.name)
        if found is not None and _endpoint(found) == _endpoint(obj):
            await client.delete(obj, missing_ok=True)
    except SteersmanError as error:
        _log.warning("cannot delete the webhook configuration", extra={"name": obj.name, "error": str(error)})


def _endpoint(configuration: Unstructured) -> tuple[object, object]:
    """Return the URL or Service of the first webhook of a configuration."""
    config = configuration.content["webhooks"][0]["clientConfig"]
    return config.get("url"), (config.get("service") or {}).get("name")
