"""Objects as a server sends them."""

import json
from typing import Any


def document(name: str = "a", version: str = "1", **more: Any) -> dict[str, Any]:
    """Return a small object of a custom kind; keyword arguments are metadata, or spec."""
    spec = more.pop("spec", {"n": 1})
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": version, **more}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def wire(document: dict[str, Any]) -> bytes:
    """Return an object as servers encode it: compact."""
    return json.dumps(document, separators=(",", ":")).encode()
