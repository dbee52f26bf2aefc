"""The client program of examples/project, written with the official client: to compare lines, and to run.

``python bench/kopf/project_client.py --kubeconfig ~/.kube/config``. The definition must be there: the official client
makes none from classes.
"""

import argparse
import copy
import threading
from types import SimpleNamespace
from typing import Any

from kubernetes import client, config, dynamic, watch
from kubernetes.informer import ADDED, SharedInformer

NAMESPACE = "default"


def projects_of(api: client.ApiClient) -> Any:
    """Return the resource of Projects, once it is served."""
    found: Any = dynamic.DynamicClient(api).resources.get(api_version="examples-gzh.com/v1alpha1", kind="Project")
    return found


def new(name: str, replicas: int) -> dict[str, Any]:
    """Return a Project to create."""
    return {
        "apiVersion": "examples-gzh.com/v1alpha1",
        "kind": "Project",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": replicas},
    }


def shown(project: Any) -> str:
    """Return the description of a Project."""
    metadata = project.metadata
    return f"{metadata.namespace}/{metadata.name} replicas {project.spec.replicas}"


def every_verb(projects: Any) -> None:
    """Create, get, list, update, patch and delete."""
    print("created", shown(projects.create(body=new("typed", 2), namespace=NAMESPACE)))

    found = projects.get(name="typed", namespace=NAMESPACE).to_dict()
    found["spec"]["replicas"] = 3
    found["metadata"]["labels"] = {"team": "storage"}
    updated = projects.replace(body=found, namespace=NAMESPACE)
    print("updated", shown(updated), "generation", updated.metadata.generation)

    change = {"metadata": {"name": "typed"}, "spec": {"replicas": 4}}
    patched = projects.patch(body=change, namespace=NAMESPACE, content_type="application/merge-patch+json")
    print("patched", shown(patched), "generation", patched.metadata.generation)

    listed = projects.get(namespace=NAMESPACE, label_selector="team=storage").items
    print("projects found:", [project.metadata.name for project in listed])
    projects.delete(name="typed", namespace=NAMESPACE)
    try:
        left = projects.get(name="typed", namespace=NAMESPACE)
    except dynamic.exceptions.NotFoundError:
        left = None
    print(f"deleted {NAMESPACE}/typed found then:", left)


def follow(projects: Any) -> None:
    """Watch existing objects, then every change, until the last object is deleted."""
    projects.create(body=new("watched", 1), namespace=NAMESPACE)
    for event in projects.watch(namespace=NAMESPACE, field_selector="metadata.name=watched", watcher=watch.Watch()):
        project = event["object"]
        print("watched", event["type"].capitalize(), project.metadata.name, project.spec.replicas)
        if event["type"] == "DELETED":
            return
        if project.spec.replicas == 1:
            change = {"metadata": {"name": "watched"}, "spec": {"replicas": 2}}
            projects.patch(body=change, namespace=NAMESPACE, content_type="application/merge-patch+json")
        else:
            projects.delete(name="watched", namespace=NAMESPACE)


def keep_a_copy(projects: Any) -> None:
    """Run an informer: it lists once, watches from there on, and serves reads from its store."""

    def listed_or_watched(**options: Any) -> Any:
        # The informer is made for generated classes: other types need these attributes.
        if options.get("watch"):
            return projects.get(**options, serialize=False)
        found = projects.get(**options).to_dict()
        version = SimpleNamespace(resource_version=found["metadata"]["resourceVersion"])
        return SimpleNamespace(items=found["items"], metadata=version)

    def stored(key: str) -> Any:
        # Reads share one object: changing it changes the store.
        return copy.deepcopy(informer.cache.get_by_key(key))

    projects.create(body=new("some-project", 1), namespace=NAMESPACE)
    listed = threading.Event()
    # Without a timeout stop() would wait for the next event.
    informer = SharedInformer(listed_or_watched, namespace=NAMESPACE, resync_period=1)
    informer.add_event_handler(ADDED, lambda _: listed.set())
    informer.start()
    listed.wait(30)
    project = stored(f"{NAMESPACE}/some-project")
    print("store has", f"{NAMESPACE}/{project['metadata']['name']}" if project else None)
    copied = stored(f"{NAMESPACE}/some-project")
    print("every read is a copy of its own:", copied is not project and copied == project)
    projects.delete(name="some-project", namespace=NAMESPACE)
    informer.stop()


def main(kubeconfig: str | None) -> None:
    """Run all parts."""
    if kubeconfig:
        config.load_kube_config(kubeconfig)
    else:
        config.load_config()
    projects = projects_of(client.ApiClient())
    every_verb(projects)
    follow(projects)
    keep_a_copy(projects)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Asks for Projects in every way.")
    parser.add_argument("--kubeconfig", help="path to a kubeconfig; without it, the cluster this runs in")
    main(parser.parse_args().kubeconfig)
