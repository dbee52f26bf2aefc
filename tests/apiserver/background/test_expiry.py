from steersman.apiserver.background.expiry import EVENT_SECONDS
from tests.apiserver.background.controlled_server import DEFINITIONS, ControlledServer, Document, definition

EVENTS = "/api/v1/namespaces/default/events"
SECRETS = "/api/v1/namespaces/default/secrets"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def event(name: str) -> Document:
    """Return an Event."""
    about = {"kind": "ConfigMap", "namespace": "default", "name": "c"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "m"}


async def test_events_expire_an_hour_after_their_last_write() -> None:
    """A repeated Event is updated and stays; without expiry, operators would fill the server."""
    server = ControlledServer()
    server.create(EVENTS, event("a"))
    await server.clock.advance(EVENT_SECONDS / 2)
    server.create(EVENTS, event("b"))
    server.patch(f"{EVENTS}/a", {"count": 2})
    await server.clock.advance(EVENT_SECONDS / 2 - 1)
    assert server.names(EVENTS) == ["a", "b"]
    server.patch(f"{EVENTS}/a", {"count": 3})
    await server.clock.advance(EVENT_SECONDS / 2 + 2)
    assert server.names(EVENTS) == ["a"]
    await server.clock.advance(EVENT_SECONDS)
    assert server.names(EVENTS) == []


async def test_a_token_is_deleted_with_its_service_account() -> None:
    """A copied token must stop working."""
    server = ControlledServer()
    server.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    kind = "kubernetes.io/service-account-token"
    annotations = {"kubernetes.io/service-account.name": "sa"}
    server.create(SECRETS, {"metadata": {"name": "t", "annotations": annotations}, "type": kind})
    await server.settle()
    assert server.names(SECRETS) == ["t"]
    server.delete(f"{ACCOUNTS}/sa")
    await server.settle()
    assert server.names(SECRETS) == []


async def test_a_token_without_a_service_account_is_deleted() -> None:
    """Kubernetes deletes it at once and keeps other Secrets."""
    server = ControlledServer()
    kind = "kubernetes.io/service-account-token"
    annotations = {"kubernetes.io/service-account.name": "nobody"}
    server.create(SECRETS, {"metadata": {"name": "t", "annotations": annotations}, "type": kind})
    server.create(SECRETS, {"metadata": {"name": "s", "annotations": annotations}})
    await server.settle()
    assert server.names(SECRETS) == ["s"]


async def test_a_crd_is_deleted_after_the_last_of_its_objects() -> None:
    """An operator that is slow to clean up must not leave the CRD behind forever."""
    server = ControlledServer(None)
    server.create(DEFINITIONS, definition("Widget", "widgets"))
    path = "/apis/demo.dev/v1/namespaces/default/widgets"
    document = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["a.b/c"]}}
    server.create(path, document)
    server.delete(f"{DEFINITIONS}/widgets.demo.dev")
    await server.settle()
    assert server.has(f"{DEFINITIONS}/widgets.demo.dev")
    server.patch(f"{path}/w", {"metadata": {"finalizers": None}})
    await server.settle()
    assert not server.has(f"{DEFINITIONS}/widgets.demo.dev")
