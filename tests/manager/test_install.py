"""Installing CRDs: an existing conversion stays, and one that would not be served is not set."""

from typing import Any

import pytest

from steersman import Model, Operator, Resource, Status, custom_resource, meta
from steersman.client.client import Client
from steersman.concurrency import background, wait_ready
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Service, ServicePort, ServiceSpec
from steersman.manager.definitions import operator_definitions
from steersman.manager.install import apply_definition, definition_intent, install_definitions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.protocol.http import Request, Response
from steersman.schema import renames
from steersman.testing.cluster import Cluster
from steersman.transport.in_memory import InMemoryTransport
from steersman.webhook.registration.configurations import conversion_by
from steersman.webhook.serving.address import Address, ServiceAddress, UrlAddress

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
NAME = "ports.install.example.com"
SERVICE = ServiceAddress("harbour-system", "harbour-webhooks")
LAPTOP = UrlAddress("https://laptop.example.com:9443")


class OldSpec(Model):
    """The desired state in the old version."""

    berths: int = 1


class NewSpec(Model):
    """The desired state."""

    places: int = 1


@custom_resource("install.example.com/v1alpha1", kind="Port")
class OldPort(Resource[OldSpec, Status]):
    """A port in the old version."""


@custom_resource("install.example.com/v1", kind="Port", storage=True)
class Port(Resource[NewSpec, Status]):
    """A port."""


renames(OldPort, Port, {".spec.berths": ".spec.places"})


@custom_resource("install.example.com/v1", kind="Quay", storage=True)
class Quay(Resource[NewSpec, Status]):
    """A kind whose versions differ only in their names."""


@custom_resource("install.example.com/v1alpha1", kind="Quay")
class OldQuay(Resource[NewSpec, Status]):
    """The same kind in the old version."""


def harbour(*kinds: type[Resource[Any, Any]]) -> Operator:
    """Create an operator that declares some kinds."""
    operator = Operator("harbour")
    operator.declare(*kinds)
    return operator


def definition(address: Address | None = None, *kinds: type[Resource[Any, Any]]) -> Unstructured:
    """Return the CRD with some versions of one kind."""
    [made] = operator_definitions([harbour(*(kinds or (OldPort, Port)))], address)
    return made


def client_of(cluster: Cluster) -> Client:
    """Return a client that writes like `steer install` and `steer deploy`: as the operator."""
    return cluster.client.as_manager("harbour")


async def conversion_of(cluster: Cluster, name: str = NAME) -> dict[str, Any]:
    """Return the conversion that the server uses now."""
    found: dict[str, Any] = (await cluster.client.get(DEFINITION, name)).content["spec"]["conversion"]
    return found


async def test_installing_again_keeps_the_conversion_of_the_deployed_operator(cluster: Cluster) -> None:
    """Objects of the other version silently lost fields when `steer install` followed `steer deploy`."""
    client = client_of(cluster)
    await client.apply(definition(SERVICE), force=True)
    await client.as_manager("harbour-certificates").apply(
        Unstructured(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": NAME},
                "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "YQ=="}}}},
            }
        )
    )
    before = await conversion_of(cluster)
    assert before["strategy"] == "Webhook"
    await install_definitions(client, [definition()], converted=[NAME])
    assert await conversion_of(cluster) == before


async def test_a_crd_without_a_conversion_is_rejected(cluster: Cluster) -> None:
    """The error names the versions and every way to serve the conversion; nothing is written."""
    with pytest.raises(ConfigError) as refused:
        await install_definitions(client_of(cluster), [definition()], converted=[NAME])
    message = str(refused.value)
    assert message.startswith(f"{NAME}: v1alpha1 and v1 differ in their fields")
    for way in ("steer deploy", "--webhook-url", "steer dev"):
        assert way in message
    assert await cluster.client.try_get(DEFINITION, NAME) is None


async def test_all_crds_are_checked_before_the_first_is_written(cluster: Cluster) -> None:
    """An error leaves the cluster unchanged, whichever CRD it is about."""
    with pytest.raises(ConfigError, match="differ in their fields"):
        await install_definitions(client_of(cluster), [definition(None, OldQuay, Quay), definition()], converted=[NAME])
    assert await cluster.client.try_get(DEFINITION, "quays.install.example.com") is None


async def test_a_manager_without_webhooks_rejects_kinds_that_need_conversion(cluster: Cluster) -> None:
    """`steer run --install-crds` must not do what `steer install` rejects."""
    manager = Manager(
        [harbour(OldPort, Port)], cluster.transport, ManagerOptions(install_crds=True), clock=cluster.clock
    )
    with pytest.raises(ConfigError, match="--webhook-url"):
        async with background(manager.run(), name="manager") as task:
            await wait_ready(manager.wait_ready(), task)


async def test_versions_without_functions_keep_an_existing_conversion(cluster: Cluster) -> None:
    """An earlier release, or another program, may convert; not being declared here is no reason to remove it."""
    client = client_of(cluster)
    quays = definition(None, OldQuay, Quay)
    converted = Unstructured({**quays.content, "spec": {**quays.content["spec"], "conversion": conversion_by(SERVICE)}})
    await client.apply(converted, force=True)
    await install_definitions(client, [quays])
    assert (await conversion_of(cluster, quays.name))["strategy"] == "Webhook"


async def test_a_conversion_of_another_owner_is_not_claimed(cluster: Cluster) -> None:
    """A chart or a cluster's administrator can still change it afterwards without a conflict."""
    await cluster.client.as_manager("helm").apply(definition(SERVICE), force=True)
    installed = await apply_definition(client_of(cluster), definition(), is_converted=True)
    owners = {
        entry["manager"]
        for entry in installed.content["metadata"]["managedFields"]
        if "f:conversion" in entry["fieldsV1"].get("f:spec", {})
    }
    assert owners == {"helm"}


async def test_a_kind_with_one_version_needs_no_conversion(cluster: Cluster) -> None:
    """The last step of a migration: no field can be lost any more."""
    client = client_of(cluster)
    await client.apply(definition(SERVICE), force=True)
    await install_definitions(client, [definition(None, Port)])
    assert await conversion_of(cluster) == {"strategy": "None"}


class Rival(InMemoryTransport):
    """A connection on which another program writes just before the first write arrives."""

    def __init__(self, cluster: Cluster, act: Any) -> None:
        super().__init__(cluster.server, clock=cluster.clock)
        self._act = act

    async def request(self, request: Request, **options: Any) -> Response:
        """Run the other program's write once, then send."""
        if request.method == "PATCH" and self._act is not None:
            act, self._act = self._act, None
            await act()
        return await super().request(request, **options)


async def test_a_conversion_that_appears_meanwhile_is_not_overwritten(cluster: Cluster) -> None:
    """The state may be outdated: `steer deploy` may run at the same moment, with the same field manager."""
    client = client_of(cluster)
    quays = definition(None, OldQuay, Quay)
    await client.apply(quays, force=True)
    converted = Unstructured({**quays.content, "spec": {**quays.content["spec"], "conversion": conversion_by(SERVICE)}})

    async def deploy() -> None:
        await client.apply(converted, force=True)

    late = Client(Rival(cluster, deploy), field_manager="harbour", clock=cluster.clock)
    await install_definitions(late, [quays])
    assert (await conversion_of(cluster, quays.name))["strategy"] == "Webhook"


async def test_a_laptop_does_not_take_the_conversion_from_an_existing_service(cluster: Cluster) -> None:
    """Two programs would alternately set their certificates, and reads of the old version would end with the laptop.

    Whether the Service answers cannot be known from here; that it exists can.
    """
    client = client_of(cluster)
    await client.apply(definition(SERVICE), force=True)
    service = Service(meta(SERVICE.name, namespace="default"), spec=ServiceSpec(ports=[ServicePort(port=443)]))
    here = ServiceAddress("default", SERVICE.name)
    await client.apply(definition(here), force=True)
    await cluster.client.create(service)
    with pytest.raises(ConfigError, match=r"service default/harbour-webhooks.*steer undeploy"):
        await install_definitions(client, [definition(LAPTOP)], converted=[NAME])
    await cluster.client.delete(service)
    await install_definitions(client, [definition(LAPTOP)], converted=[NAME])
    assert (await conversion_of(cluster))["webhook"]["clientConfig"]["url"] == "https://laptop.example.com:9443/convert"


def test_the_intended_conversion_is_computed_without_a_cluster() -> None:
    """A conversion with its own address is the caller's decision, whatever exists."""
    wanted, there = definition(LAPTOP).content, definition(SERVICE).content
    assert definition_intent(wanted, there, manager="harbour", is_converted=True) == wanted
    assert definition_intent(wanted, None, manager="harbour", is_converted=True) == wanted
