"""Webhooks of a cluster that cannot be called, of any operator: those for admission and those for conversion.

Only what the API shows is checked: the Service, its endpoints, the certificates. A webhook is not called, because this
machine is not the API server.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from steersman.cli.cluster.diagnosis import Finding, bad, good, note
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.errors import Forbidden, NotFound
from steersman.kinds.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.kinds.core_v1 import Service
from steersman.kinds.discovery_v1 import EndpointSlice


class _ServiceReference(Protocol):
    name: str
    namespace: str


class _ClientConfig(Protocol):
    """How the API server calls a webhook; admission and conversion have separate classes for it."""

    @property
    def ca_bundle(self) -> bytes | None: ...
    @property
    def service(self) -> _ServiceReference | None: ...


@dataclass(frozen=True, slots=True)
class _Webhook:
    """One webhook, and what to do if it cannot be called."""

    name: str
    config: _ClientConfig
    advice: str
    #: Whether requests fail with it.
    is_required: bool = True


async def webhook_findings(client: Client) -> AsyncIterator[Finding]:
    """Yield webhooks that cannot be called; required ones make requests about their kinds fail."""
    broken = 0
    try:
        async for webhook in _webhooks(client):
            if problem := await _problem(client, webhook.config):
                broken += 1
                what = f"{webhook.name} {problem}"
                yield bad(what, webhook.advice) if webhook.is_required else note(what, webhook.advice)
    except (Forbidden, NotFound) as error:
        yield note(f"webhooks cannot be looked at: {error}")
        return
    if not broken:
        yield good("every webhook calls an existing service and trusts a CA")


async def _webhooks(client: Client) -> AsyncIterator[_Webhook]:
    async for configuration in _configurations(client):
        advice = f"bring its operator back, or delete {type(configuration).__name__} {configuration.name}"
        for entry in configuration.webhooks or ():
            is_required = entry.failure_policy != "Ignore"
            yield _Webhook(f"webhook {entry.name}", entry.client_config, advice, is_required)
    async for definition in client.list(CustomResourceDefinition):
        conversion = definition.spec.conversion
        webhook = conversion.webhook if conversion is not None and conversion.strategy == "Webhook" else None
        if webhook is not None and webhook.client_config is not None:
            name = f"conversion of {definition.name}"
            advice = "bring its operator back ('steer deploy'): only the stored version can be read and written now"
            yield _Webhook(name, webhook.client_config, advice)


async def _configurations(
    client: Client,
) -> AsyncIterator[ValidatingWebhookConfiguration | MutatingWebhookConfiguration]:
    async for validating in client.list(ValidatingWebhookConfiguration):
        yield validating
    async for mutating in client.list(MutatingWebhookConfiguration):
        yield mutating


async def _problem(client: Client, config: _ClientConfig) -> str:
    """Return why a webhook cannot be called; empty if it can, as far as the API shows."""
    service = config.service
    if service is not None:
        if await client.try_get(Service, service.name, service.namespace) is None:
            return f"calls service {service.namespace}/{service.name}, which is not there"
        if not await _has_endpoint(client, service):
            return f"calls service {service.namespace}/{service.name}, of which no pod is ready"
        if not config.ca_bundle:
            return "has no caBundle: no certificate of its service is trusted"
    return _bundle_problem(config.ca_bundle) if config.ca_bundle else ""


async def _has_endpoint(client: Client, service: _ServiceReference) -> bool:
    """Return whether a pod of a service is ready; True if there is no slice to tell."""
    selector = f"kubernetes.io/service-name={service.name}"
    slices = [one async for one in client.list(EndpointSlice, namespace=service.namespace, label_selector=selector)]
    conditions = [endpoint.conditions for one in slices for endpoint in one.endpoints or ()]
    return not slices or any(condition is None or condition.ready is not False for condition in conditions)


def _bundle_problem(bundle: bytes) -> str:
    # Loaded here: most clusters that are looked at have no webhooks, and the library for certificates is large.
    from steersman.serving.certificate_bundle import valid_until

    end = valid_until(bundle)
    if end is None:
        return "has a caBundle that cannot be read"
    return "trusts only certificates that are over" if end <= RealClock().now() else ""
