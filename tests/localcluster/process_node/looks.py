"""Queries about pods of a process node, on the server and on the node."""

from contextlib import suppress
from pathlib import Path

from steersman import meta
from steersman.kinds.core_v1 import (
    ContainerStatus,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    VolumeMount,
    VolumeResourceRequirements,
)
from steersman.localcluster.process_node.containers.container_log import read_log
from steersman.localcluster.process_node.node import ProcessNode
from steersman.objects.quantity import Quantity
from steersman.testing.cluster import Cluster
from tests.localcluster.process_node.conftest import placed, script

POD_IP = EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))


def pod_of(cluster: Cluster, name: str = "a") -> Pod:
    """Return a pod from the server."""
    (found,) = [pod for pod in cluster.list(Pod) if pod.name == name]
    return found


def container_of(cluster: Cluster, name: str = "a") -> ContainerStatus:
    """Return the status of a pod's first container."""
    statuses = pod_of(cluster, name).status.container_statuses or []
    assert statuses, "no status yet"
    return statuses[0]


def phase_of(cluster: Cluster, name: str = "a") -> str | None:
    """Return a pod's phase."""
    return pod_of(cluster, name).status.phase


def is_ready(cluster: Cluster, name: str = "a") -> bool:
    """Return whether a pod is ready."""
    conditions = pod_of(cluster, name).status.conditions or ()
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def output_of(node: ProcessNode, name: str = "a", container: str = "main") -> list[str]:
    """Return the output of a container."""
    assert any(runner.pod.name == name for runner in node.pods.values()), "not there yet"
    runner = node.pod(name)
    entries = read_log(runner.logs_of(container).path(runner.life.containers[container].restarts))
    return [entry.text.decode() for entry in entries]


def waiting_reason(cluster: Cluster) -> str | None:
    """Return why a container waits."""
    state = container_of(cluster).state
    return None if state is None or state.waiting is None else state.waiting.reason


def claim(name: str) -> PersistentVolumeClaim:
    """Return a claim of a gigabyte."""
    spec = PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    )
    return PersistentVolumeClaim(meta(name, namespace="default"), spec=spec)


def with_claim(name: str, text: str, claim_name: str = "data") -> Pod:
    """Return a pod that mounts a claim at /data."""
    source = PersistentVolumeClaimVolumeSource(claim_name=claim_name)
    return placed(
        name,
        script(text, volume_mounts=[VolumeMount(name="data", mount_path="/data")]),
        volumes=[Volume(name="data", persistent_volume_claim=source)],
        restart_policy="Never",
    )


def text(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text()


def names(directory: Path) -> list[str]:
    """Return the names in a directory."""
    return [entry.name for entry in directory.iterdir()]


def state(pid: int) -> str:
    """Return the letter of a process's state, or an empty text without a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return state(pid) not in ("", "Z")
