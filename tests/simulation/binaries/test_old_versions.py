"""Versions that Kubernetes has removed, answered by the current ones."""

import json

import pytest

from steersman.errors import ConfigError
from steersman.protocol.http import Request
from steersman.simulation.binaries.old_versions import OldVersions, parse_old_versions
from steersman.simulation.network.exchanges import Collected
from steersman.testing.cluster import Cluster

OLD = {"policy/v1beta1": "policy/v1"}
BUDGETS = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"


def ask(cluster: Cluster, method: str, target: str, body: object = None) -> tuple[int, dict[str, object]]:
    """Send a request, and return the status and the document of the answer."""
    answer = Collected()
    data = json.dumps(body).encode() if body is not None else b""
    OldVersions(cluster.server, OLD).handle(Request(method, target, {"content-type": "application/json"}, data), answer)
    assert answer.response is not None
    return answer.response.status, json.loads(answer.response.body)


async def test_an_object_is_written_and_read_in_an_old_version() -> None:
    """An operator of 2020 manages a PodDisruptionBudget on a server of today."""
    async with Cluster.start() as cluster:
        budget = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
        assert ask(cluster, "POST", BUDGETS, budget)[0] == 201
        status, found = ask(cluster, "GET", f"{BUDGETS}/a")
        assert (status, found["apiVersion"]) == (200, "policy/v1beta1")
        assert ask(cluster, "GET", BUDGETS)[1]["apiVersion"] == "policy/v1beta1"
        assert ask(cluster, "GET", f"{BUDGETS.replace('v1beta1', 'v1')}/a")[1]["apiVersion"] == "policy/v1"


async def test_discovery_lists_the_old_version() -> None:
    """Clients read the versions of a group before they use one."""
    async with Cluster.start() as cluster:
        expected = [
            {"groupVersion": "policy/v1", "version": "v1"},
            {"groupVersion": "policy/v1beta1", "version": "v1beta1"},
        ]
        assert ask(cluster, "GET", "/apis/policy")[1]["versions"] == expected
        groups = ask(cluster, "GET", "/apis")[1]["groups"]
        assert isinstance(groups, list)
        assert [group["versions"] for group in groups if group["name"] == "policy"] == [expected]
        status, resources = ask(cluster, "GET", "/apis/policy/v1beta1")
        assert (status, resources["groupVersion"]) == (200, "policy/v1beta1")


@pytest.mark.parametrize(
    "text", ["policy/v1beta1", "policy=policy/v1", "policy/v1=policy/v1", "policy/v1beta1=apps/v1"]
)
def test_an_invalid_pair_of_versions_is_rejected(text: str) -> None:
    """Only two versions of one group can be translated."""
    with pytest.raises(ConfigError, match="is not OLD=NEW with two versions of one group"):
        parse_old_versions([text])
