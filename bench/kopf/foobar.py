"""The operator of examples/foobar, written with kopf and the official client: to compare lines, and to run.

``kopf run -A bench/kopf/foobar.py``, on a cluster that has the definitions of FooBar and FooBarTask, in v1 alone: kopf
has no webhooks for conversion, so nobody would answer for v1beta1.
"""

import threading
from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

FOOBAR = ("test.example.com", "v1", "foobars")
TASK = ("internal.test.example.com", "v1", "foobartasks")
#: Whose target it is: the uid of a FooBar.
MARK = "test.example.com/foobar"
TYPE = "test.example.com/type"
#: Seconds after which a revoke that failed is tried again from the start.
REVOKE_AGAIN = 60.0
#: How often a task is tried before it counts as failed; the pauses between are 1, 2, 4, … seconds.
MOST_ATTEMPTS = 5
#: Seconds for which a task that is over can be looked at.
TTL = 600.0
STATES = {
    ("Apply", "Pending"): "Applying",
    ("Apply", "Succeeded"): "ApplySucceed",
    ("Apply", "Failed"): "ApplyFailed",
    ("Revoke", "Pending"): "Revoking",
    ("Revoke", "Succeeded"): "RevokeSucceed",
    ("Revoke", "Failed"): "RevokeFailed",
}
#: Handlers of FooBars and of tasks run side by side; a FooBar is looked at by one of them at a time.
LOOKING = threading.Lock()


class MissingError(Exception):
    """The target does not exist yet."""


class TakenError(Exception):
    """The target belongs to another FooBar."""


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Load the kubeconfig, and keep kopf's progress in annotations, not in the status."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage()
    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()


# FooBars: tasks from the spec, and the status from the tasks.


@kopf.on.create(*FOOBAR, backoff=1)
@kopf.on.resume(*FOOBAR, backoff=1)
@kopf.on.update(*FOOBAR, field="spec", backoff=1)
@kopf.on.update(*FOOBAR, field="status", backoff=1)  # an erased status is restored
def reconcile(name: str, namespace: str | None, **_: Any) -> None:
    """Revoke what is no longer wanted, then apply what is."""
    look(name, namespace)


@kopf.timer(*FOOBAR, interval=REVOKE_AGAIN, initial_delay=REVOKE_AGAIN)
def look_again(name: str, namespace: str | None, **_: Any) -> None:
    """Retry failures; kopf does not repeat the event of a task whose handler failed."""
    look(name, namespace)


@kopf.on.event(*TASK)
def task_changed(namespace: str | None, meta: kopf.Meta, **_: Any) -> None:
    """Reconcile the FooBar of this task."""
    for owner in meta.get("ownerReferences", []):
        if owner["kind"] == "FooBar":
            look(owner["name"], namespace)


@kopf.on.delete(*FOOBAR, backoff=1)
def delete(body: kopf.Body, **_: Any) -> None:
    """Revoke everything; the finalizer stays until then, and the tasks are deleted with their owner."""
    with LOOKING:
        tasks = tasks_of(body)
        unfinished = revoke_all(body, tasks, applied(tasks))
        if unfinished is not None:
            show(body, unfinished)
            raise kopf.TemporaryError("what was applied is not revoked yet", delay=1)


def look(name: str, namespace: str | None) -> None:
    """Reconcile the tasks of a FooBar, and show the current one in the status."""
    with LOOKING:
        foobar = try_get(name, namespace)
        if foobar is None or "deletionTimestamp" in foobar["metadata"]:
            return
        tasks = tasks_of(foobar)
        current = current_of(foobar, tasks)
        outdated = [task for task in applied(tasks) if task is not current]
        task = revoke_all(foobar, tasks, outdated) or current or create(foobar, apply_of(foobar))
        show(foobar, task)


def revoke_all(foobar: Any, tasks: dict[str, Any], outdated: list[Any]) -> Any:
    """Revoke applied tasks; return one that is not revoked yet, or ``None`` when all are."""
    unfinished = None
    for apply in outdated:
        revoke = tasks.get(f"{apply['metadata']['name']}-revoke")
        if revoke is not None and progress_of(revoke) == "Succeeded":
            if "deletionTimestamp" not in apply["metadata"]:
                remove(apply)
        elif "deletionTimestamp" in apply["metadata"] or progress_of(apply) == "Pending":
            # It may be running at this moment; a concurrent revoke could leave it half done.
            unfinished = apply
        elif revoke is None:
            unfinished = create(foobar, revoke_of(apply))
        else:
            unfinished = revoke
            if progress_of(revoke) == "Failed" and seconds_since(revoke["status"]["finishedAt"]) >= REVOKE_AGAIN:
                remove(revoke)
    return unfinished


def show(foobar: Any, task: Any) -> None:
    """Patch the status if it changed."""
    metadata, operation, progress = foobar["metadata"], task["spec"]["operation"], progress_of(task)
    state = "Revoking" if "deletionTimestamp" in task["metadata"] else STATES[operation, progress]
    message = task.get("status", {}).get("message", "")
    status = {"status": state, "message": message, "observedGeneration": metadata["generation"]}
    before = foobar.get("status", {})
    if all(before.get(field) == value for field, value in status.items()):
        return
    kopf.event(foobar, type="Warning" if progress == "Failed" else "Normal", reason=state, message=message)
    client.CustomObjectsApi().patch_namespaced_custom_object_status(
        *FOOBAR[:2], metadata["namespace"], FOOBAR[2], metadata["name"], {"status": status | {"updateTime": now()}}
    )


# Tasks: they show what was applied, not the status.


def tasks_of(foobar: Any) -> dict[str, Any]:
    """Return the tasks of a FooBar, keyed by name."""
    objects: Any = client.CustomObjectsApi()
    metadata = foobar["metadata"]
    found = objects.list_namespaced_custom_object(*TASK[:2], metadata["namespace"], TASK[2])["items"]
    mine = (task for task in found if task["spec"]["foobarUID"] == metadata["uid"])
    return {task["metadata"]["name"]: task for task in sorted(mine, key=lambda task: task["metadata"]["name"])}


def applied(tasks: dict[str, Any]) -> list[Any]:
    """Return the tasks that applied something, or may have, and are not completely revoked."""
    return [task for task in tasks.values() if task["spec"]["operation"] == "Apply"]


def current_of(foobar: Any, tasks: dict[str, Any]) -> Any:
    """Return the task that applies the current spec, unless it is being revoked."""
    wanted = (foobar["spec"]["target"], foobar["spec"].get("type", ""))
    for task in applied(tasks):
        is_undone = f"{task['metadata']['name']}-revoke" in tasks or "deletionTimestamp" in task["metadata"]
        if (task["spec"]["target"], task["spec"].get("type", "")) == wanted and not is_undone:
            return task
    return None


def apply_of(foobar: Any) -> dict[str, Any]:
    """Return the task that applies a FooBar; the same one for the same generation."""
    metadata, spec = foobar["metadata"], foobar["spec"]
    wanted = {
        "operation": "Apply",
        "target": spec["target"],
        "type": spec.get("type", ""),
        "foobarUID": metadata["uid"],
        "foobarGeneration": metadata["generation"],
    }
    return task_of(f"{metadata['name'][:200]}-{metadata['uid'][:8]}-{metadata['generation']}", wanted)


def revoke_of(apply: Any) -> dict[str, Any]:
    """Return the task that revokes another one; always the same one."""
    return task_of(f"{apply['metadata']['name']}-revoke", {**apply["spec"], "operation": "Revoke"})


def task_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a task."""
    return {"apiVersion": "/".join(TASK[:2]), "kind": "FooBarTask", "metadata": {"name": name}, "spec": spec}


def create(foobar: Any, task: dict[str, Any]) -> Any:
    """Create a task of a FooBar."""
    kopf.append_owner_reference(task, owner=foobar)
    return client.CustomObjectsApi().create_namespaced_custom_object(
        *TASK[:2], foobar["metadata"]["namespace"], TASK[2], task
    )


def remove(task: Any) -> None:
    """Delete a task; do nothing if it does not exist."""
    metadata = task["metadata"]
    try:
        client.CustomObjectsApi().delete_namespaced_custom_object(
            *TASK[:2], metadata["namespace"], TASK[2], metadata["name"]
        )
    except client.ApiException as error:
        if error.status != 404:
            raise


def try_get(name: str, namespace: str | None) -> Any:
    """Return a FooBar, or ``None``."""
    objects: Any = client.CustomObjectsApi()
    try:
        return objects.get_namespaced_custom_object(*FOOBAR[:2], namespace, FOOBAR[2], name)
    except client.ApiException as error:
        if error.status == 404:
            return None
        raise


def progress_of(task: Any) -> str:
    """Return the progress of a task."""
    progress: str = task.get("status", {}).get("progress", "Pending")
    return progress


def now() -> str:
    """Return the time in the format of Kubernetes."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(time: str) -> float:
    """Return the seconds since a time."""
    return (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()


# Running tasks.


@kopf.on.create(*TASK, backoff=1)
@kopf.on.resume(*TASK, backoff=1)
def work(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Run the task, with a limited number of attempts; it is idempotent. kopf retries errors of the API server."""
    if progress_of(body) != "Pending":
        return
    try:
        message = {"Apply": apply, "Revoke": revoke}[body["spec"]["operation"]](body)
    except TakenError as refusal:
        finish(body, patch, "Failed", str(refusal))
    except MissingError as failure:
        attempts = body.get("status", {}).get("attempts", 0) + 1
        patch.status["attempts"] = attempts
        if attempts < MOST_ATTEMPTS:
            patch.status["message"] = str(failure)
            raise kopf.TemporaryError(str(failure), delay=2.0 ** (attempts - 1)) from None
        finish(body, patch, "Failed", str(failure))
    else:
        finish(body, patch, "Succeeded", message)


@kopf.on.delete(*TASK, backoff=1)
def undo(body: kopf.Body, **_: Any) -> None:
    """Revoke what a task applied before it is deleted: otherwise the operator would not know about it any more."""
    if body["spec"]["operation"] == "Apply":
        revoke(body)


@kopf.timer(*TASK, interval=60, field="spec.operation", value="Revoke")
def expire(body: kopf.Body, **_: Any) -> None:
    """Delete a task after its TTL; tasks that applied something stay, because they are the durable state."""
    finished = body.get("status", {}).get("finishedAt")
    if finished and seconds_since(finished) >= TTL:
        remove(body)


def finish(body: kopf.Body, patch: kopf.Patch, progress: str, message: str) -> None:
    """Record the result."""
    generation = body["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": "True" if progress == "Succeeded" else "False",
        "reason": progress,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": now(),
    }
    patch.status.update(progress=progress, message=message, finishedAt=now())
    patch.status.update(observedGeneration=generation, conditions=[condition])


def apply(task: kopf.Body) -> str:
    """Mark the target; return a message."""
    spec = task["spec"]
    target = read_target(task)
    if target is None:
        raise MissingError(f"ConfigMap {spec['target']!r} does not exist")
    if (target.metadata.annotations or {}).get(MARK, spec["foobarUID"]) != spec["foobarUID"]:
        raise TakenError(f"ConfigMap {spec['target']!r} belongs to another FooBar")
    annotate(target, {MARK: spec["foobarUID"], TYPE: spec.get("type", "")})
    return f"applied to ConfigMap {spec['target']!r}"


def revoke(task: kopf.Body) -> str:
    """Remove the mark of this FooBar from the target, if it is there; return a message."""
    target = read_target(task)
    if target is not None and (target.metadata.annotations or {}).get(MARK) == task["spec"]["foobarUID"]:
        annotate(target, {MARK: None, TYPE: None})
    return f"revoked from ConfigMap {task['spec']['target']!r}"


def read_target(task: kopf.Body) -> Any:
    """Return the ConfigMap, or ``None``."""
    try:
        return client.CoreV1Api().read_namespaced_config_map(task["spec"]["target"], task["metadata"]["namespace"])
    except client.ApiException as error:
        if error.status == 404:
            return None
        raise


def annotate(target: Any, wanted: dict[str, str | None]) -> None:
    """Write annotations, unless they exist already."""
    core: Any = client.CoreV1Api()
    metadata = target.metadata
    if any((metadata.annotations or {}).get(name) != value for name, value in wanted.items()):
        # With the version that was read: a concurrent change leads to a conflict instead of being overwritten.
        change = {"annotations": wanted, "resourceVersion": metadata.resource_version}
        core.patch_namespaced_config_map(metadata.name, metadata.namespace, {"metadata": change})
