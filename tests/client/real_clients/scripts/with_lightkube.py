"""lightkube: typed and generic resources, chunked lists, selectors, watch, every patch, apply, status and scale."""

import sys
from pathlib import Path

from lightkube import ApiError, Client, codecs
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import CascadeType, PatchType

Widget = create_namespaced_resource("demo.dev", "v1", "Widget", "widgets")


def main() -> None:
    """Run all steps in order."""
    client = Client(field_manager="test")
    for obj in codecs.load_all_yaml(Path(sys.argv[1]).read_text()):
        client.create(obj)
    for number in range(9):
        labels = {"third": str(number % 3)}
        client.create(ConfigMap(metadata=ObjectMeta(name=f"m{number}", namespace="default", labels=labels)))
    every = [item.metadata.name for item in client.list(ConfigMap, namespace="default", chunk_size=2)]
    third = [item.metadata.name for item in client.list(ConfigMap, namespace="default", labels={"third": "1"})]
    named = [item.metadata.name for item in client.list(ConfigMap, namespace="*", fields={"metadata.name": "m5"})]
    print("listed", len(every), third, named)
    widget = client.create(Widget(metadata=ObjectMeta(name="w", namespace="default"), spec={"color": "red"}))
    version = widget.metadata.resourceVersion
    client.patch(Widget, "w", {"spec": {"color": "blue"}}, namespace="default", patch_type=PatchType.MERGE)
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    client.patch(Widget, "w", operations, namespace="default", patch_type=PatchType.JSON)
    status = client.patch(
        Widget.Status, "w", {"status": {"phase": "Ready"}}, namespace="default", patch_type=PatchType.MERGE
    )
    print("status", status.status, status.metadata.labels)
    applied = Widget(metadata=ObjectMeta(name="w", namespace="default"), spec={"color": "green"})
    try:
        client.apply(applied, field_manager="other")
    except ApiError as error:
        print("conflict", error.status.code, error.status.details.causes[0].field)
    print("forced", client.apply(applied, field_manager="other", force=True).spec["color"])
    client.patch(ConfigMap, "m1", {"data": {"k": "v"}}, namespace="default")
    client.delete(Widget, "w", namespace="default", cascade=CascadeType.FOREGROUND)
    seen = []
    for kind, obj in client.watch(Widget, namespace="default", resource_version=version, server_timeout=2):
        seen.append((kind, obj.spec["color"]))
        if obj.metadata.deletionTimestamp or kind == "DELETED":
            break
    print("watched", seen)
    print("got", client.get(ConfigMap, "m1").data)


main()
