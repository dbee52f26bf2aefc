"""The asyncio client: pages, selectors, patches, and a watch that runs while objects change."""

import asyncio
import sys
from pathlib import Path

import yaml
from kubernetes_asyncio import client, config, utils, watch

CRD = yaml.safe_load(Path(sys.argv[1]).read_text())
PLACE = ("demo.dev", "v1", "default", "widgets")


async def follow(objects: client.CustomObjectsApi, version: str) -> list[tuple[str, str]]:
    """Watch until the last object is deleted."""
    seen = []
    async with watch.Watch().stream(
        objects.list_namespaced_custom_object, *PLACE, resource_version=version, timeout_seconds=10
    ) as events:
        async for event in events:
            seen.append((event["type"], event["object"]["metadata"]["name"]))
            if event["type"] == "DELETED":
                break
    return seen


async def main() -> None:
    """Run all steps in order."""
    await config.load_kube_config()
    async with client.ApiClient() as api:
        await utils.create_from_dict(api, CRD)
        objects = client.CustomObjectsApi(api)
        found = await objects.list_namespaced_custom_object(*PLACE)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(follow(objects, found["metadata"]["resourceVersion"]))
            for number in range(7):
                metadata = {"name": f"w{number}", "labels": {"half": "upper" if number > 3 else "lower"}}
                body = {"apiVersion": "demo.dev/v1", "kind": "Widget", "metadata": metadata, "spec": {"color": "red"}}
                await objects.create_namespaced_custom_object(*PLACE, body)
            await objects.delete_namespaced_custom_object(*PLACE, "w0")
        print("watched", following.result())
        first = await objects.list_namespaced_custom_object(*PLACE, limit=4)
        rest = await objects.list_namespaced_custom_object(*PLACE, limit=4, _continue=first["metadata"]["continue"])
        print("pages", len(first["items"]), first["metadata"]["remainingItemCount"], len(rest["items"]))
        upper = await objects.list_namespaced_custom_object(*PLACE, label_selector="half=upper")
        blue = await objects.list_namespaced_custom_object(*PLACE, field_selector="spec.color=blue")
        print("selected", len(upper["items"]), len(blue["items"]))
        patched = await objects.patch_namespaced_custom_object(
            *PLACE, "w1", {"spec": {"color": "blue"}}, _content_type="application/merge-patch+json"
        )
        status = await objects.patch_namespaced_custom_object_status(
            *PLACE, "w1", {"status": {"phase": "Ready"}}, _content_type="application/merge-patch+json"
        )
        print("patched", patched["spec"]["color"], status["status"])
        pods = client.CoreV1Api(api)
        container = client.V1Container(name="c", image="nginx")
        pod = client.V1Pod(
            metadata=client.V1ObjectMeta(generate_name="p-"), spec=client.V1PodSpec(containers=[container])
        )
        made = await pods.create_namespaced_pod("default", pod)
        print("pod", len(made.metadata.name), made.status.phase, made.spec.restart_policy)


asyncio.run(main())
