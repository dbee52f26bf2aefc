from steersman.apiserver.background.controllers import ControllerOptions
from steersman.clock import RealClock
from tests.apiserver.background.kept import Kept

NAMESPACES = "/api/v1/namespaces"


async def test_every_namespace_has_its_default_account_also_the_first_ones() -> None:
    """Pods run as it, so operators find it everywhere."""
    kept = Kept()
    kept.create(NAMESPACES, {"metadata": {"name": "n"}})
    await kept.settle()
    for name in ("default", "kube-system", "n"):
        assert kept.names(f"{NAMESPACES}/{name}/serviceaccounts") == ["default"]


async def test_a_deleted_default_account_comes_back() -> None:
    """Kubernetes makes it again, with another uid."""
    kept = Kept()
    path = f"{NAMESPACES}/default/serviceaccounts/default"
    before = kept.get(path)["metadata"]["uid"]
    kept.delete(path)
    await kept.settle()
    assert kept.get(path)["metadata"]["uid"] != before


async def test_the_certificate_of_the_server_is_told_and_put_right() -> None:
    """Clients inside of pods trust what stands there."""
    kept = Kept(ControllerOptions(root_certificate=b"PEM"))
    path = f"{NAMESPACES}/default/configmaps/kube-root-ca.crt"
    assert kept.get(path)["data"] == {"ca.crt": "PEM"}
    kept.patch(path, {"data": {"ca.crt": "forged", "more": "x"}})
    await kept.settle()
    assert kept.get(path)["data"] == {"ca.crt": "PEM"}
    kept.delete(path)
    await kept.settle()
    assert kept.has(path)


async def test_a_namespace_takes_its_content_with_it() -> None:
    """Custom objects and accounts included, and nothing is made anew meanwhile."""
    kept = Kept(ControllerOptions(root_certificate=b"PEM"))
    kept.create(NAMESPACES, {"metadata": {"name": "n"}})
    kept.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    await kept.settle()
    kept.delete(f"{NAMESPACES}/n")
    await kept.settle()
    assert not kept.has(f"{NAMESPACES}/n")
    assert kept.names(f"{NAMESPACES}/n/configmaps") == []
    assert kept.names(f"{NAMESPACES}/n/serviceaccounts") == []


async def test_pods_go_before_everything_else() -> None:
    """A pod that is still ending may need its ConfigMaps and Secrets."""
    kept = Kept()
    kept.create(NAMESPACES, {"metadata": {"name": "n"}})
    pod = {"metadata": {"name": "p", "finalizers": ["a.b/c"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kept.create(f"{NAMESPACES}/n/pods", pod)
    kept.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    kept.delete(f"{NAMESPACES}/n")
    await kept.settle()
    assert kept.names(f"{NAMESPACES}/n/configmaps") == ["c"]
    conditions = {item["type"]: item["reason"] for item in kept.get(f"{NAMESPACES}/n")["status"]["conditions"]}
    assert conditions["NamespaceContentRemaining"] == "ContentRemoved"
    kept.patch(f"{NAMESPACES}/n/pods/p", {"metadata": {"finalizers": None}})
    await kept.settle()
    assert not kept.has(f"{NAMESPACES}/n")


async def test_a_namespace_tells_what_holds_it_back_as_it_gets_less() -> None:
    """People read this to find out why a namespace does not go."""
    kept = Kept()
    kept.create(NAMESPACES, {"metadata": {"name": "n"}})
    for name in ("a", "b"):
        document = {"metadata": {"name": name, "finalizers": ["a.b/c"]}}
        kept.create(f"{NAMESPACES}/n/configmaps", document)
        kept.create(f"{NAMESPACES}/n/secrets", document)
    kept.delete(f"{NAMESPACES}/n")
    await kept.settle()

    def told() -> list[str]:
        return [item["message"] for item in kept.get(f"{NAMESPACES}/n")["status"]["conditions"][3:]]

    assert told() == [
        "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 2 resource instances",
        "Some content in the namespace has finalizers remaining: a.b/c in 4 resource instances",
    ]
    kept.patch(f"{NAMESPACES}/n/secrets/a", {"metadata": {"finalizers": None}})
    await kept.settle()
    assert told()[1] == "Some content in the namespace has finalizers remaining: a.b/c in 3 resource instances"


async def test_a_namespace_waits_for_finalizers_of_others() -> None:
    """Only the server's own finalizer is the server's to remove."""
    kept = Kept()
    kept.create(NAMESPACES, {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.b/c"]}})
    kept.delete(f"{NAMESPACES}/n")
    await kept.settle()
    assert kept.get(f"{NAMESPACES}/n")["spec"]["finalizers"] == ["a.b/c"]


async def test_a_large_namespace_is_emptied_in_steps() -> None:
    """Other clients must not have to wait until ten thousand objects are gone."""
    kept = Kept()
    kept.create(NAMESPACES, {"metadata": {"name": "n"}})
    for number in range(450):
        kept.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": f"c{number}"}})
    await kept.settle()
    kept.delete(f"{NAMESPACES}/n")
    seen = set()
    for _ in range(100):
        seen.add(len(kept.names(f"{NAMESPACES}/n/configmaps")))
        await RealClock().sleep(0)
    assert len(seen) > 2
    assert kept.names(f"{NAMESPACES}/n/configmaps") == []
