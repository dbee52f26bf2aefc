"""The operator of examples/project, written with kopf and the official client: to compare lines, and to run.

``kopf run -A bench/kopf/project.py``, on a cluster that has the definition of Project. The program of the example that
only asks is project_client.py.
"""

from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

PROJECT = ("examples-gzh.com", "v1alpha1", "projects")


@kopf.on.startup()
def connect(**_: Any) -> None:
    """Load the kubeconfig."""
    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()


@kopf.on.create(*PROJECT)
@kopf.on.update(*PROJECT, field="spec")
@kopf.on.resume(*PROJECT)
def reconcile(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Apply the Deployment of a Project."""
    patch.status.update(wanted_status(body))


@kopf.on.event("apps", "v1", "deployments")
def deployment_changed(name: str, namespace: str | None, **_: Any) -> None:
    """Reconcile the Project of the same name."""
    projects: Any = client.CustomObjectsApi()
    try:
        project = projects.get_namespaced_custom_object(*PROJECT[:2], namespace, PROJECT[2], name)
    except client.ApiException as error:
        if error.status == 404:
            return
        raise
    if "deletionTimestamp" in project["metadata"]:
        return
    status = wanted_status(project)
    if any(project.get("status", {}).get(field) != value for field, value in status.items()):
        projects.patch_namespaced_custom_object_status(*PROJECT[:2], namespace, PROJECT[2], name, {"status": status})


def wanted_status(project: Any) -> dict[str, Any]:
    """Reconcile a Project, and return its status; a foreign Deployment is left alone."""
    apps: Any = client.AppsV1Api()
    name, namespace, wanted = project["metadata"]["name"], project["metadata"]["namespace"], project["spec"]["replicas"]
    try:
        before = apps.read_namespaced_deployment(name, namespace)
    except client.ApiException as error:
        if error.status != 404:
            raise
        found = apps.create_namespaced_deployment(namespace, deployment_of(project))
        kopf.info(project, reason="Created", message=f"created the Deployment {name}")
    else:
        if not is_controlled(before, project["metadata"]["uid"]):
            return not_ours(project)
        found = apps.patch_namespaced_deployment(name, namespace, deployment_of(project))
        if before.spec.replicas != wanted:
            kopf.info(project, reason="Scaled", message=f"scaled from {before.spec.replicas} to {wanted}")
    available = found.status.available_replicas or 0
    is_ready = available >= wanted
    reason = "Available" if is_ready else "NotAvailable"
    return {
        "replicas": found.status.replicas or 0,
        "selector": f"project={name}",
        **ready(project, holds=is_ready, reason=reason, message=f"{available} of {wanted} available"),
    }


def is_controlled(deployment: Any, uid: str) -> bool:
    """Return whether a Deployment is controlled by an object."""
    return any(owner.uid == uid and owner.controller for owner in deployment.metadata.owner_references or [])


def not_ours(project: Any) -> dict[str, Any]:
    """Return the condition for a foreign Deployment; record the event once."""
    name = project["metadata"]["name"]
    told = f"the Deployment {name} was not made for this Project: delete it, or name the Project otherwise"
    if condition_of(project).get("reason") != "NotControlledByUs":
        kopf.warn(project, reason="NotControlledByUs", message=told)
    return ready(project, holds=False, reason="NotControlledByUs", message=told)


def condition_of(project: Any) -> dict[str, Any]:
    """Return the condition."""
    conditions: list[dict[str, Any]] = project.get("status", {}).get("conditions", [])
    return next(iter(conditions), {})


def ready(project: Any, *, holds: bool, reason: str, message: str) -> dict[str, Any]:
    """Return a condition; its transition time changes only with its status."""
    before, generation, status = condition_of(project), project["metadata"]["generation"], "True" if holds else "False"
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == status else now,
    }
    return {"observedGeneration": generation, "conditions": [condition]}


def deployment_of(project: Any) -> dict[str, Any]:
    """Return the wanted Deployment."""
    name = project["metadata"]["name"]
    labels = {"project": name}
    container = {"name": "project", "image": "nginx:stable"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": project["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    kopf.append_owner_reference(deployment, owner=project)
    return deployment
