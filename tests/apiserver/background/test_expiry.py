from steersman.apiserver.background.expiry import EVENT_SECONDS
from tests.apiserver.background.kept import DEFINITIONS, Document, Kept, definition

EVENTS = "/api/v1/namespaces/default/events"
SECRETS = "/api/v1/namespaces/default/secrets"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def event(name: str) -> Document:
    """Give an Event."""
    about = {"kind": "ConfigMap", "namespace": "default", "name": "c"}
    return {"metadata": {"name": name}, "involvedObject": about, "message": "m"}


async def test_events_are_forgotten_an_hour_after_their_last_write() -> None:
    """A repeated Event is updated, and lives on; operators would otherwise fill the server."""
    kept = Kept()
    kept.create(EVENTS, event("a"))
    await kept.clock.advance(EVENT_SECONDS / 2)
    kept.create(EVENTS, event("b"))
    kept.patch(f"{EVENTS}/a", {"count": 2})
    await kept.clock.advance(EVENT_SECONDS / 2 - 1)
    assert kept.names(EVENTS) == ["a", "b"]
    kept.patch(f"{EVENTS}/a", {"count": 3})
    await kept.clock.advance(EVENT_SECONDS / 2 + 2)
    assert kept.names(EVENTS) == ["a"]
    await kept.clock.advance(EVENT_SECONDS)
    assert kept.names(EVENTS) == []


async def test_a_token_goes_with_its_account() -> None:
    """Whoever has copied it must not be let in any more."""
    kept = Kept()
    kept.create(ACCOUNTS, {"metadata": {"name": "sa"}})
    kind = "kubernetes.io/service-account-token"
    annotations = {"kubernetes.io/service-account.name": "sa"}
    kept.create(SECRETS, {"metadata": {"name": "t", "annotations": annotations}, "type": kind})
    await kept.settle()
    assert kept.names(SECRETS) == ["t"]
    kept.delete(f"{ACCOUNTS}/sa")
    await kept.settle()
    assert kept.names(SECRETS) == []


async def test_a_token_of_nobody_is_not_kept() -> None:
    """Kubernetes deletes it at once, and leaves other Secrets alone."""
    kept = Kept()
    kind = "kubernetes.io/service-account-token"
    annotations = {"kubernetes.io/service-account.name": "nobody"}
    kept.create(SECRETS, {"metadata": {"name": "t", "annotations": annotations}, "type": kind})
    kept.create(SECRETS, {"metadata": {"name": "s", "annotations": annotations}})
    await kept.settle()
    assert kept.names(SECRETS) == ["s"]


async def test_a_definition_goes_when_the_last_of_its_objects_is_gone() -> None:
    """An operator that is slow to clean up must not leave a definition behind for ever."""
    kept = Kept(None)
    kept.create(DEFINITIONS, definition("Widget", "widgets"))
    path = "/apis/demo.dev/v1/namespaces/default/widgets"
    document = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["a.b/c"]}}
    kept.create(path, document)
    kept.delete(f"{DEFINITIONS}/widgets.demo.dev")
    await kept.settle()
    assert kept.has(f"{DEFINITIONS}/widgets.demo.dev")
    kept.patch(f"{path}/w", {"metadata": {"finalizers": None}})
    await kept.settle()
    assert not kept.has(f"{DEFINITIONS}/widgets.demo.dev")
