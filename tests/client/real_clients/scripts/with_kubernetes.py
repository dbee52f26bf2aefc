"""The official client: typed and custom objects, pages, selectors, a watch, its patches, status, the dynamic client."""

import sys
from pathlib import Path

import yaml
from kubernetes import client, config, dynamic, utils, watch

NAMESPACE = "default"
CRD = Path(sys.argv[1])


def typed(core: client.CoreV1Api) -> None:
    """Write and read built-in objects."""
    for number in range(25):
        labels = {"parity": "odd" if number % 2 else "even"}
        metadata = client.V1ObjectMeta(name=f"map-{number:02}", labels=labels)
        core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=metadata, data={"n": str(number)}))
    names, token = [], None
    pages = 0
    while token != "":
        page = core.list_namespaced_config_map(NAMESPACE, limit=10, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
        pages += 1
    print("pages", pages, len(names), names == sorted(names))
    odd = core.list_namespaced_config_map(NAMESPACE, label_selector="parity in (odd)")
    one = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=map-07")
    print("selected", len(odd.items), [item.data for item in one.items])
    changed = core.patch_namespaced_config_map("map-07", NAMESPACE, {"data": {"n": None, "m": "x"}})
    print("patched", changed.data)
    try:
        changed.metadata.resource_version = "1"
        core.replace_namespaced_config_map("map-07", NAMESPACE, changed)
    except client.ApiException as error:
        print("stale", error.status, error.reason)
    done = core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="parity=even")
    print("deleted", done.kind, len(core.list_namespaced_config_map(NAMESPACE).items))


def custom(objects: client.CustomObjectsApi) -> None:
    """Write and read custom objects."""
    place = ("demo.dev", "v1", NAMESPACE, "widgets")
    made = {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"app": "x"}},
        "spec": {"color": "red"},
    }
    first = objects.create_namespaced_custom_object(*place, made)
    version = first["metadata"]["resourceVersion"]
    print("created", dict(sorted(first["spec"].items())), first["metadata"]["generation"])
    objects.patch_namespaced_custom_object(*place, "w", {"spec": {"color": "blue"}})
    operations = [{"op": "replace", "path": "/spec/color", "value": "green"}]
    media = "application/json-patch+json"
    objects.patch_namespaced_custom_object(*place, "w", operations, _content_type=media)
    status = objects.patch_namespaced_custom_object_status(*place, "w", {"status": {"phase": "Ready"}})
    print("status", status["status"], status["spec"]["color"], status["metadata"]["generation"])
    objects.patch_namespaced_custom_object_scale(*place, "w", {"spec": {"replicas": 4}})
    objects.delete_namespaced_custom_object(*place, "w")
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        objects.list_namespaced_custom_object, *place, resource_version=version, timeout_seconds=5
    ):
        seen.append((event["type"], event["object"]["spec"]["color"]))
        if event["type"] == "DELETED":
            stream.stop()
    print("watched", seen)
    try:
        objects.create_namespaced_custom_object(*place, {**made, "spec": {"color": "pink"}})
    except client.ApiException as error:
        print("refused", error.status, "Unsupported value" in error.body)


def with_discovery(api: client.ApiClient) -> None:
    """Discover kinds from the server, and use server-side apply."""
    widgets = dynamic.DynamicClient(api).resources.get(api_version="demo.dev/v1", kind="Widget")
    body = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": {"name": "d"}, "spec": {"color": "red"}}
    applied = widgets.server_side_apply(body=body, name="d", namespace=NAMESPACE, field_manager="test")
    print("applied", applied.metadata.managedFields[0].manager, applied.metadata.managedFields[0].operation)


def main() -> None:
    """Run all steps in order."""
    config.load_kube_config()
    api = client.ApiClient()
    utils.create_from_dict(api, yaml.safe_load(CRD.read_text()))
    print("version", client.VersionApi(api).get_code().git_version)
    typed(client.CoreV1Api(api))
    custom(client.CustomObjectsApi(api))
    with_discovery(api)


if __name__ == "__main__":
    main()
