from steersman.apiserver.background.controllers import ControllerOptions
from steersman.clock import RealClock
from tests.apiserver.background.controlled_server import ControlledServer

NAMESPACES = "/api/v1/namespaces"


async def test_every_namespace_has_a_default_service_account() -> None:
    """Pods run as it, so operators rely on it in every namespace, the built-in ones included."""
    server = ControlledServer()
    server.create(NAMESPACES, {"metadata": {"name": "n"}})
    await server.settle()
    for name in ("default", "kube-system", "n"):
        assert server.names(f"{NAMESPACES}/{name}/serviceaccounts") == ["default"]


async def test_a_deleted_default_service_account_is_created_again() -> None:
    """Kubernetes creates it again, with another uid."""
    server = ControlledServer()
    path = f"{NAMESPACES}/default/serviceaccounts/default"
    before = server.get(path)["metadata"]["uid"]
    server.delete(path)
    await server.settle()
    assert server.get(path)["metadata"]["uid"] != before


async def test_the_ca_certificate_is_published_and_restored() -> None:
    """Clients inside pods trust the certificate in this ConfigMap."""
    server = ControlledServer(ControllerOptions(root_certificate=b"PEM"))
    path = f"{NAMESPACES}/default/configmaps/kube-root-ca.crt"
    assert server.get(path)["data"] == {"ca.crt": "PEM"}
    server.patch(path, {"data": {"ca.crt": "forged", "more": "x"}})
    await server.settle()
    assert server.get(path)["data"] == {"ca.crt": "PEM"}
    server.delete(path)
    await server.settle()
    assert server.has(path)


async def test_a_namespace_is_deleted_with_its_content() -> None:
    """Custom objects and service accounts included, and nothing is created again meanwhile."""
    server = ControlledServer(ControllerOptions(root_certificate=b"PEM"))
    server.create(NAMESPACES, {"metadata": {"name": "n"}})
    server.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    await server.settle()
    server.delete(f"{NAMESPACES}/n")
    await server.settle()
    assert not server.has(f"{NAMESPACES}/n")
    assert server.names(f"{NAMESPACES}/n/configmaps") == []
    assert server.names(f"{NAMESPACES}/n/serviceaccounts") == []


async def test_pods_are_deleted_before_everything_else() -> None:
    """A terminating pod may still need its ConfigMaps and Secrets."""
    server = ControlledServer()
    server.create(NAMESPACES, {"metadata": {"name": "n"}})
    pod = {"metadata": {"name": "p", "finalizers": ["a.b/c"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    server.create(f"{NAMESPACES}/n/pods", pod)
    server.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    server.delete(f"{NAMESPACES}/n")
    await server.settle()
    assert server.names(f"{NAMESPACES}/n/configmaps") == ["c"]
    conditions = {item["type"]: item["reason"] for item in server.get(f"{NAMESPACES}/n")["status"]["conditions"]}
    assert conditions["NamespaceContentRemaining"] == "ContentRemoved"
    server.patch(f"{NAMESPACES}/n/pods/p", {"metadata": {"finalizers": None}})
    await server.settle()
    assert not server.has(f"{NAMESPACES}/n")


async def test_a_namespace_reports_what_blocks_its_deletion() -> None:
    """Users read the conditions to find out why a namespace is not deleted; they change as content disappears."""
    server = ControlledServer()
    server.create(NAMESPACES, {"metadata": {"name": "n"}})
    for name in ("a", "b"):
        document = {"metadata": {"name": name, "finalizers": ["a.b/c"]}}
        server.create(f"{NAMESPACES}/n/configmaps", document)
        server.create(f"{NAMESPACES}/n/secrets", document)
    server.delete(f"{NAMESPACES}/n")
    await server.settle()

    def reported() -> list[str]:
        return [item["message"] for item in server.get(f"{NAMESPACES}/n")["status"]["conditions"][3:]]

    assert reported() == [
        "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 2 resource instances",
        "Some content in the namespace has finalizers remaining: a.b/c in 4 resource instances",
    ]
    server.patch(f"{NAMESPACES}/n/secrets/a", {"metadata": {"finalizers": None}})
    await server.settle()
    assert reported()[1] == "Some content in the namespace has finalizers remaining: a.b/c in 3 resource instances"


async def test_a_namespace_waits_for_foreign_finalizers() -> None:
    """The server may remove only its own finalizer."""
    server = ControlledServer()
    server.create(NAMESPACES, {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}})
    server.delete(f"{NAMESPACES}/n")
    await server.settle()
    assert server.get(f"{NAMESPACES}/n")["spec"]["finalizers"] == ["a.b/c"]


async def test_a_large_namespace_is_emptied_in_steps() -> None:
    """Other clients must not have to wait until ten thousand objects are deleted."""
    server = ControlledServer()
    server.create(NAMESPACES, {"metadata": {"name": "n"}})
    for number in range(450):
        server.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": f"c{number}"}})
    await server.settle()
    server.delete(f"{NAMESPACES}/n")
    seen = set()
    for _ in range(100):
        seen.add(len(server.names(f"{NAMESPACES}/n/configmaps")))
        await RealClock().sleep(0)
    assert len(seen) > 2
    assert server.names(f"{NAMESPACES}/n/configmaps") == []
