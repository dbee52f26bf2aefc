"""A process node with the controllers of a local cluster: workloads of real processes."""

from pathlib import Path

from steersman import meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec
from steersman.kinds.core_v1 import (
    EnvVar,
    EnvVarSource,
    HTTPGetAction,
    ObjectFieldSelector,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Probe,
    VolumeMount,
    VolumeResourceRequirements,
)
from steersman.kinds.meta_v1 import LabelSelector
from steersman.localcluster.local_cluster import local_operators
from steersman.localcluster.process_node.faults import PodFaults
from steersman.localcluster.process_node.node import ProcessNode
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.objects.quantity import Quantity
from steersman.testing.cluster import Cluster
from tests.localcluster.process_node.conftest import IMAGES, script

#: Counts its starts on its volume, and serves the number by HTTP at its own address.
COUNTER = """
import os, http.server
path = "/data/starts"
starts = int(open(path).read()) + 1 if os.path.exists(path) else 1
open(path, "w").write(str(starts))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 404)
        self.end_headers()
    def log_message(self, *words):
        pass
print("started", starts, flush=True)
http.server.HTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
"""
LABELS = {"app": "counter"}


def counters() -> StatefulSet:
    """Return a StatefulSet of two, as for any cluster."""
    address = EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP"))
    container = script(
        COUNTER,
        env=[EnvVar(name="POD_IP", value_from=address)],
        readiness_probe=Probe(http_get=HTTPGetAction(path="/ready", port=8080), period_seconds=1),
        volume_mounts=[VolumeMount(name="data", mount_path="/data")],
    )
    storage = PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=VolumeResourceRequirements(requests={"storage": Quantity("1Mi")})
    )
    spec = StatefulSetSpec(
        replicas=2,
        service_name="counter",
        pod_management_policy="Parallel",
        selector=LabelSelector(match_labels=LABELS),
        template=PodTemplateSpec(metadata=meta(labels=LABELS), spec=PodSpec(containers=[container])),
        volume_claim_templates=[PersistentVolumeClaim(meta("data"), spec=storage)],
    )
    return StatefulSet(meta("counter", namespace="default"), spec=spec)


def are_ready(cluster: Cluster) -> bool:
    """Return whether the whole set is ready."""
    return [one.status.ready_replicas for one in cluster.list(StatefulSet)] == [2]


async def test_a_stateful_set_of_processes_keeps_its_data_and_addresses(cluster: Cluster, tmp_path: Path) -> None:
    """Scheduled, bound to storage, probed, killed, deleted: what database operators are tested with."""
    node = ProcessNode(ProcessNodeOptions(images=IMAGES, data=tmp_path / "node"))
    node.serve(cluster.server)
    async with cluster.running(*local_operators(node=node.operator)):
        await cluster.client.create(counters())
        await cluster.eventually(lambda: are_ready(cluster), within=10)
        before = {pod.name: pod.status.pod_ip for pod in cluster.list(Pod)}
        first = next(pod for pod in cluster.list(Pod) if pod.name == "counter-0")
        assert [line async for line in cluster.client.logs(first)] == ["started 1"]

        PodFaults(node, "counter-0").kill()
        await cluster.eventually(lambda: _is_back(cluster), within=10)
        await cluster.client.delete(first)
        await cluster.eventually(lambda: _uid(cluster) not in ("", first.uid) and are_ready(cluster), within=10)

        again = next(pod for pod in cluster.list(Pod) if pod.name == "counter-0")
        assert [line async for line in cluster.client.logs(again)] == ["started 3"]
        assert {pod.name: pod.status.pod_ip for pod in cluster.list(Pod)} == before


def _is_back(cluster: Cluster) -> bool:
    statuses = [status for pod in cluster.list(Pod) for status in pod.status.container_statuses or ()]
    return any(status.restart_count == 1 and status.ready for status in statuses)


def _uid(cluster: Cluster) -> str:
    return next((pod.uid for pod in cluster.list(Pod) if pod.name == "counter-0"), "")
