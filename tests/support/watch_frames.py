"""Lists and watches of ConfigMaps as a server sends them."""

from typing import Any


def item(name: str, version: int, uid: str = "") -> dict[str, Any]:
    """Return a ConfigMap as the server sends it."""
    metadata = {"name": name, "namespace": "default", "uid": uid or name, "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def frame(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Return one frame of a watch."""
    return {"type": kind, "object": obj}


def bookmark(version: int, *, end: bool = False) -> dict[str, Any]:
    """Return a bookmark."""
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return frame("BOOKMARK", {"kind": "ConfigMap", "metadata": metadata})


def page(*items: dict[str, Any], version: int) -> dict[str, Any]:
    """Return a whole list."""
    return {"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": [*items]}
