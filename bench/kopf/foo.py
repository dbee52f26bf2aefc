"""The operator of examples/samplecontroller, written with kopf and the official client: to compare lines, and to run.

``kopf run -A bench/kopf/foo.py``, on a cluster that has the definition of Foo.
"""

from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

FOO = ("samplecontroller.k8s.io", "v1alpha1", "foos")


@kopf.on.startup()
def connect(**_: Any) -> None:
    """Load the kubeconfig."""
    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()


@kopf.on.create(*FOO)
@kopf.on.update(*FOO, field="spec")
@kopf.on.resume(*FOO)
def reconcile(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Apply the Deployment; one that does not belong to the Foo is left alone."""
    patch.status.update(wanted_status(body))


@kopf.on.event("apps", "v1", "deployments")
def deployment_changed(name: str, namespace: str | None, **_: Any) -> None:
    """Reconcile every Foo that names this Deployment, and patch its status."""
    foos: Any = client.CustomObjectsApi()
    for foo in foos.list_namespaced_custom_object(*FOO[:2], namespace, FOO[2])["items"]:
        if foo["spec"].get("deploymentName") != name or "deletionTimestamp" in foo["metadata"]:
            continue
        status = wanted_status(foo)
        if any(foo.get("status", {}).get(field) != value for field, value in status.items()):
            foos.patch_namespaced_custom_object_status(
                *FOO[:2], namespace, FOO[2], foo["metadata"]["name"], {"status": status}
            )


def wanted_status(foo: Any) -> dict[str, Any]:
    """Reconcile a Foo, and return its status."""
    name = foo["spec"].get("deploymentName")
    if not name:
        kopf.warn(foo, reason="DeploymentNameMissing", message="spec.deploymentName is missing")
        return status_of(foo, 0, ready=False, reason="DeploymentNameMissing")
    apps: Any = client.AppsV1Api()
    namespace, wanted = foo["metadata"]["namespace"], deployment_of(foo, name)
    try:
        found = apps.read_namespaced_deployment(name, namespace)
    except client.ApiException as error:
        if error.status != 404:
            raise
        found = apps.create_namespaced_deployment(namespace, wanted)
        kopf.info(foo, reason="Synced", message=f"created the Deployment {name}")
    if not any(owner.uid == foo["metadata"]["uid"] for owner in found.metadata.owner_references or []):
        if reason_of(foo) != "ErrResourceExists":
            kopf.warn(foo, reason="ErrResourceExists", message=f"the Deployment {name} is not managed by this Foo")
        return status_of(foo, 0, ready=False, reason="ErrResourceExists")
    generation = found.metadata.generation
    found = apps.patch_namespaced_deployment(name, namespace, wanted)
    if found.metadata.generation != generation:
        kopf.info(foo, reason="Synced", message=f"changed the Deployment {name}")
    prune(foo, name)
    available = found.status.available_replicas or 0
    ready = available >= (found.spec.replicas or 0)
    return status_of(foo, available, ready=ready, reason="Available" if ready else "NotAvailable")


def prune(foo: Any, name: str) -> None:
    """Delete Deployments of the Foo that have another name."""
    apps: Any = client.AppsV1Api()
    metadata = foo["metadata"]
    for other in apps.list_namespaced_deployment(metadata["namespace"]).items:
        owners = [owner.uid for owner in other.metadata.owner_references or []]
        if metadata["uid"] in owners and other.metadata.name != name:
            apps.delete_namespaced_deployment(other.metadata.name, metadata["namespace"])


def reason_of(foo: Any) -> str:
    """Return the reason of the condition."""
    return next((one["reason"] for one in foo.get("status", {}).get("conditions", [])), "")


def status_of(foo: Any, available: int, *, ready: bool, reason: str) -> dict[str, Any]:
    """Return a status; the transition time changes only with the condition."""
    generation, status = foo["metadata"]["generation"], "True" if ready else "False"
    before: dict[str, Any] = next(iter(foo.get("status", {}).get("conditions", [])), {})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    since = before["lastTransitionTime"] if before.get("status") == status else now
    condition = {"type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": since}
    return {
        "availableReplicas": available,
        "observedGeneration": generation,
        "conditions": [condition | {"observedGeneration": generation}],
    }


def deployment_of(foo: Any, name: str) -> dict[str, Any]:
    """Return the wanted Deployment."""
    labels = {"app": "nginx", "controller": foo["metadata"]["name"]}
    container = {"name": "nginx", "image": "nginx:latest"}
    wanted: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    if "replicas" in foo["spec"]:
        wanted["spec"]["replicas"] = foo["spec"]["replicas"]
    kopf.append_owner_reference(wanted, owner=foo)
    return wanted
