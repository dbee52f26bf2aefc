from typing import Any

import pytest

from tests.apiserver.api import Api

Document = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"


async def cluster(*names: str, ready: bool = True) -> Api:
    """Return a server with running pods of one app."""
    api = Api()
    for name in names:
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
        await api.send("POST", PODS, {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec})
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        assert (await api.send("PATCH", f"{PODS}/{name}/status", status, content_type=MERGE)).status == 200
    return api


async def budget(api: Api, name: str = "b", **status: Any) -> None:
    """Create a disruption budget for the app, with the status that its controller would write."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await api.send("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})
    state = {"status": {"observedGeneration": 1, "expectedPods": 2, "desiredHealthy": 1, **status}}
    assert (await api.send("PATCH", f"{BUDGETS}/{name}/status", state, content_type=MERGE)).status == 200


async def evict(api: Api, name: str, query: str = "") -> Document:
    """Request an eviction."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    answer: Document = await api.ask("POST", f"{PODS}/{name}/eviction{query}", body)
    return answer


async def test_each_eviction_uses_one_disruption_until_none_is_left() -> None:
    """Two drains at once must not evict both pods of an app."""
    api = await cluster("a", "b")
    await budget(api, disruptionsAllowed=1, currentHealthy=2)
    assert (await evict(api, "a"))["code"] == 201
    left = (await api.ask("GET", f"{BUDGETS}/b"))["status"]
    assert (left["disruptionsAllowed"], list(left["disruptedPods"])) == (0, ["a"])
    refused = await evict(api, "b")
    assert (refused["code"], refused["reason"]) == (429, "TooManyRequests")
    assert "deletionTimestamp" not in (await api.ask("GET", f"{PODS}/b"))["metadata"]


async def test_an_evicted_pod_has_the_reason_as_a_condition() -> None:
    """Job controllers distinguish a disruption from a failure by this condition."""
    api = await cluster("a")
    await evict(api, "a")
    conditions = (await api.ask("GET", f"{PODS}/a"))["status"]["conditions"]
    assert [item["reason"] for item in conditions if item["type"] == "DisruptionTarget"] == ["EvictionByEvictionAPI"]


async def test_a_dry_run_changes_neither_pod_nor_budget() -> None:
    """Tools first check whether a node could be drained."""
    api = await cluster("a")
    await budget(api, disruptionsAllowed=1, currentHealthy=2)
    assert (await evict(api, "a", "?dryRun=All"))["code"] == 201
    assert (await api.ask("GET", f"{BUDGETS}/b"))["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in (await api.ask("GET", f"{PODS}/a"))["metadata"]


async def test_eviction_waits_until_a_changed_budget_is_observed() -> None:
    """A status that its controller has not updated means nothing; the client gets a time to retry after."""
    api = await cluster("a")
    await budget(api, disruptionsAllowed=1, currentHealthy=2, observedGeneration=0)
    refused = await evict(api, "a")
    assert refused["details"]["retryAfterSeconds"] == 10
    assert refused["details"]["causes"][0]["message"] == (
        "The disruption budget b is still being processed by the server."
    )


async def test_a_pod_that_is_not_ready_is_evicted_while_enough_others_are_ready() -> None:
    """A broken pod must not keep a node from being drained."""
    api = await cluster("a", ready=False)
    await budget(api, disruptionsAllowed=0, currentHealthy=1)
    assert (await evict(api, "a"))["code"] == 201


@pytest.mark.parametrize("count", [2, 3])
async def test_several_budgets_for_one_pod_are_not_supported(count: int) -> None:
    """Kubernetes answers with a 500, and tools know the message."""
    api = await cluster("a")
    for index in range(count):
        await budget(api, f"b{index}", disruptionsAllowed=1, currentHealthy=2)
    assert (await evict(api, "a"))["message"] == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
