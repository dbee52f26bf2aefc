"""Writes that change nothing, and leader election records, are not steps."""

import json

from steersman import meta
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured
from steersman.protocol.http import Request
from steersman.simulation.binaries.effects import changes_something
from steersman.simulation.binaries.elections import end_terms, is_election_request, without_elections
from steersman.simulation.network.exchanges import Collected
from steersman.testing.cluster import Cluster

MAPS = "/api/v1/namespaces/default/configmaps"
LEADER = "control-plane.alpha.kubernetes.io/leader"


def stored(cluster: Cluster, path: str) -> bytes:
    """Return an object as the server answers."""
    answer = Collected()
    cluster.server.handle(Request("GET", path), answer)
    assert answer.response is not None
    return answer.response.body


async def test_an_update_with_the_same_content_changes_nothing() -> None:
    """Operators write every object each time; only at a change can a fault show something."""
    async with Cluster.start() as cluster:
        await cluster.client.create(ConfigMap(meta("a"), data={"x": "1"}))
        version = cluster.server.objects.version
        json_type = {"content-type": "application/json"}
        same = stored(cluster, f"{MAPS}/a")
        assert not changes_something(cluster.server, Request("PUT", f"{MAPS}/a", json_type, same))
        other = same.replace(b'"x":"1"', b'"x":"2"')
        assert changes_something(cluster.server, Request("PUT", f"{MAPS}/a", json_type, other))
        assert changes_something(cluster.server, Request("DELETE", f"{MAPS}/a"))
        assert not changes_something(cluster.server, Request("DELETE", f"{MAPS}/b"))
        fresh = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}).encode()
        assert changes_something(cluster.server, Request("POST", MAPS, json_type, fresh))
        assert not changes_something(cluster.server, Request("POST", MAPS, json_type, same))
        assert not changes_something(cluster.server, Request("GET", f"{MAPS}/a"))
        assert not changes_something(cluster.server, Request("POST", "/api/v1/namespaces/default/pods/a/exec"))
        assert cluster.server.objects.version == version


async def test_a_write_that_a_webhook_reviews_counts_as_a_change() -> None:
    """Whether it changes anything is known only after the webhook has answered; nothing may wait for that here."""
    webhook = {
        "name": "a.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
    }
    gvk = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
    async with Cluster.start() as cluster:
        await cluster.client.create(Unstructured.of(gvk, "a", webhooks=[webhook]))
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).encode()
        request = Request("POST", MAPS, {"content-type": "application/json"}, body)
        assert changes_something(cluster.server, request)


async def test_the_record_of_a_leader_in_a_config_map_is_recognised() -> None:
    """Older operators renew their leadership in a ConfigMap, every two seconds and forever."""
    async with Cluster.start() as cluster:
        record = ConfigMap(meta("lock", annotations={LEADER: "{}"}))
        await cluster.client.create(record)
        await cluster.client.create(ConfigMap(meta("other")))
        body = json.dumps({"metadata": {"name": "lock", "annotations": {LEADER: "{}"}}}).encode()
        assert is_election_request(cluster.server, Request("PUT", f"{MAPS}/lock"))
        assert is_election_request(cluster.server, Request("POST", MAPS, {}, body))
        assert not is_election_request(cluster.server, Request("PUT", f"{MAPS}/other"))
        assert not is_election_request(cluster.server, Request("POST", MAPS, {}, b"{}"))
        assert not is_election_request(cluster.server, Request("GET", "/api/v1/pods"))


async def test_the_lease_of_a_killed_leader_ends_at_once_and_nodes_keep_theirs() -> None:
    """The next process need not wait until a lease expires; a node is not a leader."""
    async with Cluster.start() as cluster:
        await cluster.client.create(ConfigMap(meta("lock", annotations={LEADER: "{}"})))
        await cluster.client.create(ConfigMap(meta("other")))
        spec = LeaseSpec(holder_identity="a")
        await cluster.client.create(Lease(meta("leader"), spec=spec))
        await cluster.client.create(Lease(meta("node", namespace="kube-node-lease"), spec=spec))
        seen: list[str] = []
        cluster.server.objects.observers.append(without_elections(lambda event: seen.append(event.record.name)))
        end_terms(cluster.server)
        maps = {one.name for one in cluster.list(ConfigMap, namespace="default")}
        assert maps & {"lock", "other"} == {"other"}
        assert [one.name for one in cluster.list(Lease)] == ["node"]
        # Deletions by the simulation itself are not writes of the operator.
        assert seen == []
