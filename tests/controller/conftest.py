"""Records and changes as an informer creates them."""

import json
from typing import Any

from steersman.informer.record import Record, RecordReader
from steersman.objects.identity import GroupVersionKind

READER = RecordReader(GroupVersionKind("runtime.example.com", "v1", "Widget"))


def record(name: str = "a", version: str = "1", *, spec: Any = None, **metadata: Any) -> Record:
    """Create a record; keyword arguments are its metadata."""
    document = {
        "apiVersion": "runtime.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": version, **metadata},
        "spec": spec if spec is not None else {"size": 1},
    }
    return READER.read(json.dumps(document, separators=(",", ":")).encode())
