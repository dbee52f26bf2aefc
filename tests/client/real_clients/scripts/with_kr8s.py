"""kr8s: discovery of everything, its own paging, selectors, watch, patches, labels, conditions."""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import yaml
from kr8s.asyncio import Api, api
from kr8s.asyncio.objects import ConfigMap, CustomResourceDefinition, new_class

CRD = yaml.safe_load(Path(sys.argv[1]).read_text())


async def follow(client: Api, kind: type, begun: asyncio.Event) -> list[tuple[str, str]]:
    """Watch until a deletion; the first event shows that the watch is open."""
    seen = []
    async with aclosing(client.watch(kind)) as events:
        async for event, obj in events:
            seen.append((event, obj.name))
            begun.set()
            if event == "DELETED":
                break
    return seen


async def main() -> None:
    """Run all steps in order."""
    client = await api()
    print("version", (await client.version())["gitVersion"], len(await client.api_resources()) > 50)
    crd = await CustomResourceDefinition(CRD, api=client)
    await crd.create()
    await crd.wait("condition=Established", timeout=5)
    Widget = new_class("Widget", "demo.dev/v1", namespaced=True, asyncio=True, plural="widgets")  # noqa: N806 - a class
    made = []
    for number in range(105):  # more than one of its pages of 100
        body = {"metadata": {"name": f"w{number:03}", "labels": {"last": str(number % 10)}}, "spec": {"color": "red"}}
        widget = await Widget({"apiVersion": "demo.dev/v1", "kind": "Widget", **body}, api=client)
        await widget.create()
        made.append(widget)
    every = [item async for item in client.get(Widget)]
    some = [item.name async for item in client.get(Widget, label_selector={"last": "7"})]
    named = [item.name async for item in client.get(Widget, field_selector="metadata.name=w003")]
    print("listed", len(every), len(some), named)
    await made[0].patch({"spec": {"color": "blue"}})
    await made[0].patch(
        {"status": {"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status"
    )
    await made[0].wait("condition=Ready", timeout=5)
    await made[0].label({"extra": "yes"})
    await made[0].refresh()
    print("patched", made[0].spec.color, made[0].status.phase, made[0].labels["extra"])
    config = await ConfigMap({"metadata": {"name": "m", "namespace": "default"}, "data": {"a": "b"}}, api=client)
    await config.create()
    print("exists", await config.exists())
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(follow(client, ConfigMap, begun))
        await begun.wait()
        await config.delete()
    print("watched", following.result())


asyncio.run(main())
