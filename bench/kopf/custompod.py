"""The operator of examples/custompod, written with kopf and the official client: to compare lines, and to run.

``kopf run -A bench/kopf/custompod.py``, on a cluster that has the definition of CustomPod.
"""

import threading
from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

CUSTOM_POD = ("zhhnzw.mock.com", "v1", "custompods")
SLEEPER = {"containers": [{"name": "busybox", "image": "busybox", "command": ["sleep", "3600"]}]}
#: Handlers of pods and of CustomPods run side by side; pods are counted by one of them at a time.
COUNTING = threading.Lock()


@kopf.on.startup()
def connect(**_: Any) -> None:
    """Load the kubeconfig."""
    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()


@kopf.on.create(*CUSTOM_POD)
@kopf.on.update(*CUSTOM_POD, field="spec")
@kopf.on.resume(*CUSTOM_POD)
def reconcile(name: str, namespace: str | None, **_: Any) -> None:
    """Create and delete pods until there are as many as wanted."""
    count(name, namespace)


@kopf.on.event("v1", "pods")
def pod_changed(namespace: str | None, meta: kopf.Meta, **_: Any) -> None:
    """Reconcile the CustomPod that controls this pod."""
    for owner in meta.get("ownerReferences", []):
        if owner["kind"] == "CustomPod" and owner["apiVersion"] == "/".join(CUSTOM_POD[:2]) and owner.get("controller"):
            count(owner["name"], namespace)


def count(name: str, namespace: str | None) -> None:
    """Reconcile the pods of a CustomPod, and patch its status if it changed."""
    objects: Any = client.CustomObjectsApi()
    with COUNTING:
        try:
            custom_pod = objects.get_namespaced_custom_object(*CUSTOM_POD[:2], namespace, CUSTOM_POD[2], name)
        except client.ApiException as error:
            if error.status == 404:
                return
            raise
        if "deletionTimestamp" in custom_pod["metadata"]:
            return
        kept, problem = make(custom_pod)
        status = status_of(custom_pod, kept, problem)
        before = custom_pod.get("status", {})
        if any(before.get(field) != value for field, value in status.items()):
            objects.patch_namespaced_custom_object_status(
                *CUSTOM_POD[:2], namespace, CUSTOM_POD[2], name, {"status": status}
            )
    if problem:
        kopf.warn(custom_pod, reason="FailedCreate", message=problem)
        raise kopf.TemporaryError(problem, delay=5)


def make(custom_pod: Any) -> tuple[list[Any], str]:
    """Delete surplus pods and create missing ones, in growing batches; return the pods and the problem, if any."""
    api: Any = client.CoreV1Api()
    metadata, wanted = custom_pod["metadata"], custom_pod["spec"]["replicas"]
    found = api.list_namespaced_pod(metadata["namespace"]).items
    mine = [pod for pod in found if is_controlled(pod, metadata["uid"]) and not pod.metadata.deletion_timestamp]
    running = sorted((pod for pod in mine if not has_ended(pod)), key=worth)
    kept = running[:wanted]
    for pod in [*filter(has_ended, mine), *running[wanted:]]:
        api.delete_namespaced_pod(pod.metadata.name, metadata["namespace"])
        kopf.info(custom_pod, reason="SuccessfulDelete", message=f"deleted pod {pod.metadata.name}")
    batch = 1
    while len(kept) < wanted:
        for _ in range(min(batch, wanted - len(kept))):
            try:
                pod = api.create_namespaced_pod(metadata["namespace"], pod_of(custom_pod))
            except client.ApiException as error:
                return kept, f"{error.reason}: {error.body}"
            kopf.info(custom_pod, reason="SuccessfulCreate", message=f"created pod {pod.metadata.name}")
            kept.append(pod)
        batch *= 2
    return kept, ""


def is_controlled(pod: Any, uid: str) -> bool:
    """Return whether a pod is controlled by an object."""
    return any(owner.uid == uid and owner.controller for owner in pod.metadata.owner_references or [])


def has_ended(pod: Any) -> bool:
    """Return whether a pod has ended."""
    return pod.status.phase in ("Failed", "Succeeded")


def is_ready(pod: Any) -> bool:
    """Return whether a pod is ready."""
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or [])


def worth(pod: Any) -> tuple[bool, datetime, str]:
    """Return the sort key of pods to keep."""
    return not is_ready(pod), pod.metadata.creation_timestamp, pod.metadata.name


def pod_of(custom_pod: Any) -> dict[str, Any]:
    """Return a new pod."""
    name, template = custom_pod["metadata"]["name"], custom_pod["spec"].get("template", {})
    given = template.get("metadata", {})
    metadata = {
        "generateName": f"{name}-pod-",
        "labels": {**given.get("labels", {}), "app": name},
        "annotations": given.get("annotations", {}),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec", SLEEPER)}
    kopf.append_owner_reference(pod, owner=custom_pod)
    return pod


def status_of(custom_pod: Any, pods: list[Any], problem: str) -> dict[str, Any]:
    """Return the status."""
    ready, wanted = sum(map(is_ready, pods)), custom_pod["spec"]["replicas"]
    told = f"{ready} of {wanted} pods are ready"
    progressing = (ready < wanted, "WaitingForPods" if ready < wanted else "Complete", told)
    conditions = {
        "Progressing": (False, "FailedCreate", problem) if problem else progressing,
        "Ready": (ready == wanted, "AllReady" if ready == wanted else "NotAllReady", told),
    }
    return {
        "replicas": len(pods),
        "readyReplicas": ready,
        "podNames": sorted(pod.metadata.name for pod in pods),
        "selector": f"app={custom_pod['metadata']['name']}",
        "observedGeneration": custom_pod["metadata"]["generation"],
        "conditions": [condition_of(custom_pod, kind, *said) for kind, said in conditions.items()],
    }


def condition_of(custom_pod: Any, kind: str, holds: bool, reason: str, message: str) -> dict[str, Any]:
    """Return a condition; its transition time changes only with its status."""
    known = custom_pod.get("status", {}).get("conditions", [])
    before: dict[str, Any] = next((one for one in known if one["type"] == kind), {})
    status, now = "True" if holds else "False", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": custom_pod["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == status else now,
    }
