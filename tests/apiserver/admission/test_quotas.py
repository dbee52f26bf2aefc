"""ResourceQuotas: what they count, what they reject, and how their status follows. Texts are kube-apiserver's own."""

from typing import Any

import pytest

from steersman.apiserver.admission.quota_usage import is_in_scope, missing_constraints, total, usage_of
from tests.apiserver.background.controlled_server import ControlledServer, Document

CORE = "/api/v1/namespaces/default"
QUOTAS = f"{CORE}/resourcequotas"
PODS = f"{CORE}/pods"
MAPS = f"{CORE}/configmaps"
HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}


def pod(name: str = "p", requests: Document | None = None, limits: Document | None = None, **spec: Any) -> Document:
    """Return a pod with one container."""
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    container = {"name": "main", "image": "i", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def limited(**hard: str) -> ControlledServer:
    """Return a server whose default namespace has a quota."""
    kept = ControlledServer()
    await kept.settle()
    kept.create(
        QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {k.replace("_", "."): v for k, v in hard.items()}}}
    )
    await kept.settle()
    return kept


def used(kept: ControlledServer) -> Document:
    """Return what is used of the quota."""
    status: Document = kept.get(f"{QUOTAS}/q")["status"]["used"]
    return status


def test_a_pod_uses_the_most_that_runs_at_once() -> None:
    """Init containers run before the others, except for those that keep running beside them."""
    containers = [{"name": name, "resources": {"requests": {"cpu": "100m"}}} for name in ("a", "b")]
    before = [
        {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
        {"name": "load", "resources": {"requests": {"cpu": "1"}}},
    ]
    usage = usage_of("pods", {"spec": {"containers": containers, "initContainers": before}})
    assert {name: amount.canonical() for name, amount in usage.items()} == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1050m",
        "requests.cpu": "1050m",
    }


def test_a_finished_pod_uses_nothing_but_its_place() -> None:
    """Completed Jobs would otherwise block a namespace until they are deleted."""
    finished = {**pod(requests={"cpu": "1"}), "status": {"phase": "Succeeded"}}
    assert list(usage_of("pods", finished)) == ["count/pods"]


def test_sums_are_exact() -> None:
    """Quantities of different notations add up."""
    usages = [usage_of("persistentvolumeclaims", claim(size)) for size in ("1Gi", "512Mi")]
    assert total(usages)["requests.storage"].canonical() == "1536Mi"


def claim(size: str) -> Document:
    """Return a claim of a size."""
    return {"spec": {"resources": {"requests": {"storage": size}}}}


@pytest.mark.parametrize(
    ("scope", "spec", "expected"),
    [
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
        ({"scopes": ["NotTerminating"]}, {"activeDeadlineSeconds": 5}, False),
        ({"scopes": ["BestEffort"]}, {}, False),
        ({"scopes": ["NotBestEffort", "Terminating"]}, {}, False),
        ({"scopeSelector": {"matchExpressions": [HIGH]}}, {"priorityClassName": "high"}, True),
        ({"scopeSelector": {"matchExpressions": [HIGH]}}, {}, False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {}, False),
    ],
)
def test_a_quota_with_scopes_counts_the_pods_in_all_of_them(scope: Document, spec: Document, *, expected: bool) -> None:
    """The pod here is not best-effort; objects that are no pods are in no scope."""
    assert is_in_scope({"spec": scope}, "pods", {"spec": spec}, is_best_effort=False) is expected
    assert not is_in_scope({"spec": scope}, "configmaps", {}, is_best_effort=False)


def test_what_a_quota_limits_every_container_must_specify() -> None:
    """A pod without requests could use any amount."""
    two = {"spec": {"containers": [{"name": "b"}, {"name": "a", "resources": {"requests": {"cpu": "1"}}}]}}
    assert missing_constraints(two, {"limits.memory", "requests.cpu", "pods"}) == (
        "limits.memory for: a,b; requests.cpu for: b"
    )


async def test_a_write_beyond_a_quota_is_rejected_with_the_numbers() -> None:
    """The text is what kubectl shows and what people search for."""
    kept = await limited(pods="2", requests_cpu="1")
    assert kept.rejected(PODS, pod("a")) == (
        'pods "a" is forbidden: failed quota: q: must specify requests.cpu for: main'
    )
    kept.create(PODS, pod("b", {"cpu": "600m"}))
    assert kept.rejected(PODS, pod("c", {"cpu": "600m"})) == (
        'pods "c" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, '
        "limited: requests.cpu=1"
    )
    assert used(kept) == {"pods": "1", "requests.cpu": "600m"}


async def test_two_writes_cannot_use_the_same_rest() -> None:
    """The second comes before any controller could count the first."""
    kept = await limited(configmaps="2")
    kept.create(MAPS, {"metadata": {"name": "a"}})
    kept.create(MAPS, {"metadata": {"name": "b"}})
    message = kept.rejected(MAPS, {"metadata": {"name": "c"}})
    assert message == (
        'configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, '
        "limited: configmaps=2"
    )


async def test_what_goes_is_free_again_and_a_new_limit_counts_at_once() -> None:
    """Deleting objects and raising the quota are the two ways out."""
    kept = await limited(configmaps="1")
    kept.create(MAPS, {"metadata": {"name": "a"}})
    kept.delete(f"{MAPS}/a")
    await kept.settle()
    assert used(kept) == {"configmaps": "0"}
    kept.create(MAPS, {"metadata": {"name": "b"}})
    kept.patch(f"{QUOTAS}/q", {"spec": {"hard": {"configmaps": "2", "count/configmaps": "5"}}})
    await kept.settle()
    assert used(kept) == {"configmaps": "1", "count/configmaps": "1"}
    kept.create(MAPS, {"metadata": {"name": "c"}})


async def test_a_dry_run_is_checked_and_not_counted() -> None:
    """A plan of an operator must see the rejection, and must not use anything up."""
    kept = await limited(configmaps="1")
    kept.create(f"{MAPS}?dryRun=All", {"metadata": {"name": "a"}})
    await kept.settle()
    assert used(kept) == {"configmaps": "0"}
    kept.create(MAPS, {"metadata": {"name": "a"}})
    assert "exceeded quota" in kept.rejected(f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}})


async def test_a_service_that_gets_node_ports_uses_them_from_then_on() -> None:
    """An update counts what it adds."""
    kept = await limited(services_nodeports="1")
    services = f"{CORE}/services"
    kept.create(services, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
    kept.patch(f"{services}/a", {"spec": {"type": "NodePort"}})
    assert used(kept) == {"services.nodeports": "1"}
    second = {"metadata": {"name": "b"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    assert "requested: services.nodeports=1" in kept.rejected(services, second)


async def test_a_quota_whose_count_is_gone_is_counted_again() -> None:
    """A status that was emptied must neither fail a write nor turn the quota off."""
    kept = await limited(pods="1")
    kept.patch(f"{QUOTAS}/q/status", {"status": {"used": None}})
    kept.create(PODS, pod("a"))
    await kept.settle()
    assert used(kept) == {"pods": "1"}


async def test_resizing_a_pod_counts() -> None:
    """Requests can grow without the pod being written as a whole."""
    kept = await limited(requests_cpu="1")
    kept.create(PODS, pod("a", {"cpu": "500m"}))
    bigger = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "8"}}}]}}
    status, answer = kept.send(
        "PATCH", f"{PODS}/a/resize", bigger, **{"content-type": "application/strategic-merge-patch+json"}
    )
    assert (status, "exceeded quota: q" in answer["message"]) == (403, True)
