"""`Webhooks`: everything that operators want to be asked about, mounted, served and made known to the API server."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.concurrency import background, cleanup
from steersman.errors import NotFound, SteersmanError
from steersman.manager.operator import Operator
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import KubeObject, Resource, Unstructured, resource_of
from steersman.schema.conversions import has_conversions
from steersman.schema.declaration import is_custom
from steersman.webhook.registration.configurations import CONVERSION_PATH, configuration_objects
from steersman.webhook.registration.trust import DEFINITION, configuration_change, definition_change
from steersman.webhook.reviews.review_handler import Judge
from steersman.webhook.serving.listener import Front, Presence
from steersman.webhook.serving.routes import Observer, Routes

Document = dict[str, Any]
#: Makes what is to be applied to an object that was found, so that an authority is trusted; nothing if it is.
_Change = Callable[[Document, bytes], Document | None]

_log = logging.getLogger("steersman.webhook")
#: Seconds that it may take to take configurations away in the end.
_LAST_SECONDS: Final = 5.0


def need_webhooks(operators: Sequence[Operator]) -> bool:
    """Tell whether anything has to be asked of some operators; a quick look that loads no schemas."""
    return any(operator.webhooks for operator in operators) or bool(converted_kinds(operators))


def converted_kinds(operators: Sequence[Operator]) -> list[type[KubeObject]]:
    """Give the custom kinds of operators of which any version is converted by a function."""
    kinds: dict[tuple[str, str], list[type[Resource[Any, Any]]]] = {}
    for kind in dict.fromkeys(kind for operator in operators for kind in operator.kinds):
        if is_custom(kind) and issubclass(kind, Resource):
            gvk = resource_of(kind).gvk
            kinds.setdefault((gvk.group, gvk.kind), []).append(kind)
    return [kind for versions in kinds.values() if has_conversions(versions) for kind in versions]


def converted_definitions(operators: Sequence[Operator]) -> list[str]:
    """Name the definitions of those kinds."""
    resources = [resource_of(kind) for kind in converted_kinds(operators)]
    return list(dict.fromkeys(f"{resource.plural}.{resource.gvk.group}" for resource in resources))


class Webhooks:
    """The webhooks of some operators, behind one front."""

    def __init__(
        self,
        operators: Sequence[Operator],
        front: Front,
        client_of: Callable[[str], Client],
        *,
        installer_of: Callable[[str], Client],
        clock: Clock,
        observer: Observer | None = None,
    ) -> None:
        self._operators = tuple(operators)
        self._observer = observer
        self._front = front
        self._client_of = client_of
        #: Clients of whoever installs configurations, by the operator's name.
        self._installer_of = installer_of
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Webhooks of {[operator.name for operator in self._operators]}>"

    def routes(self) -> Routes:
        """Mount every function, and the conversions between versions."""
        routes = Routes(self._clock, self._observer)
        for operator in self._operators:
            client = self._client_of(operator.name)
            for webhook in operator.webhooks:
                routes.mount(webhook.path(operator.name), Judge(webhook, client).review)
        if kinds := converted_kinds(self._operators):
            # Loaded here: most operators have one version, and schemas take their time to load.
            from steersman.webhook.reviews.conversion import Conversions  # noqa: PLC0415 - see above

            routes.mount(CONVERSION_PATH, Conversions(kinds).review)
        return routes

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Presence]:
        """Let questions come inside the block; the API server does not know of it yet."""
        client = self._client_of(self._operators[0].name)
        async with self._front.serving(self.routes(), client, clock=self._clock) as presence:
            yield presence

    @asynccontextmanager
    async def known(self, presence: Presence) -> AsyncIterator[None]:
        """Let the API server know of them inside the block, and whom to trust at any moment."""
        targets: list[_Target] = []
        async with AsyncExitStack() as stack:
            # Who installs what leads to this process also says whom to trust for it; elsewhere the operator does.
            client_of = self._installer_of if self._front.installs else self._client_of
            for operator in self._operators:
                client = client_of(operator.name)
                for configuration in configuration_objects(operator.name, operator.webhooks, presence.address):
                    if self._front.installs:
                        await stack.enter_async_context(self._installed(client, configuration))
                    targets.append(_configuration_target(client, configuration))
            client = client_of(self._operators[0].name)
            definitions = converted_definitions(self._operators)
            targets += [_Target(client, DEFINITION, name, definition_change) for name in definitions]

            async def publish(authority: bytes) -> None:
                problems = [await target.trust(authority) for target in targets if authority]
                for problem in problems:
                    if problem is not None:
                        raise problem

            try:
                await publish(presence.authority)
            except SteersmanError as error:
                _log.warning("the API server was not told whom to trust", extra={"error": str(error)})
            await stack.enter_async_context(background(presence.keep(publish), name="certificates"))
            yield

    @asynccontextmanager
    async def _installed(self, client: Client, configuration: Document) -> AsyncIterator[None]:
        """Apply a configuration that leads to this process, and take it away with the process."""
        obj = Unstructured(configuration)
        await client.apply(obj, force=True)
        try:
            yield
        finally:
            await cleanup(_deleted(client, obj), clock=self._clock, within=_LAST_SECONDS)


@dataclass(frozen=True, slots=True)
class _Target:
    """An object that says whom the API server trusts."""

    client: Client
    gvk: GroupVersionKind
    name: str
    change: _Change

    async def trust(self, authority: bytes) -> SteersmanError | None:
        """Set whom to trust, under a field manager of its own, or say why not.

        An object that is not there yet is no problem: it will be looked for again.
        """
        try:
            found = await self.client.get(self.gvk, self.name)
            change = self.change(found.content, authority)
            if change is not None:
                manager = f"{self.client.field_manager}-certificates"
                await self.client.as_manager(manager).apply(Unstructured(change), force=True)
        except NotFound:
            _log.warning("nothing leads to the webhooks yet", extra={"missing": f"{self.gvk.kind} {self.name}"})
        except SteersmanError as error:
            return error
        return None


def _configuration_target(client: Client, configuration: Document) -> _Target:
    obj = Unstructured(configuration)
    names = [entry["name"] for entry in configuration["webhooks"]]
    return _Target(client, obj.gvk, obj.name, lambda found, authority: configuration_change(found, names, authority))


async def _deleted(client: Client, obj: Unstructured) -> None:
    """Delete a configuration, unless another process has taken it over by now."""
    try:
        found = await client.try_get(obj.gvk, obj.name)
        if found is not None and _leads_to(found) == _leads_to(obj):
            await client.delete(obj, missing_ok=True)
    except SteersmanError as error:
        _log.warning("configuration left behind", extra={"name": obj.name, "error": str(error)})


def _leads_to(configuration: Unstructured) -> tuple[Any, Any]:
    """Give where the first webhook of a configuration is asked."""
    config = configuration.content["webhooks"][0]["clientConfig"]
    return config.get("url"), (config.get("service") or {}).get("name")
