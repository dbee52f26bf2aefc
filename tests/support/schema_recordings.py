"""The recordings of a real server for the schema package, and which of them only a complete server can answer."""

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

_GOLDEN = Path(__file__).parent.parent / "golden"

#: Cases that no schema decides, but the store, the routes or the options of the request.
#: #: The embedded API server is compared with them.
OBJECTS_DECIDED_BY_THE_SERVER = {
    "bad fieldValidation value": "an option of the request",
    "namespace other": "the namespace of the request's path",
    "already exists (not a dry run)": "the store",
    "namespace does not exist (POST to namespace nowhere, not a dry run)": "the store",
    "no resourceVersion on update": "the store",
    "update: uid differs": "the store",
    "update: stale resourceVersion": "the store",
    "update: bad resourceVersion": "the store",
    "update: status on a CRD without the subresource": "the routes",
    "patch: name changed": "the request's path",
    "patch: strategic merge refused": "the content type",
    "apply: unknown field": "server-side apply",
    "apply: wrong type": "server-side apply",
}
CRDS_DECIDED_BY_THE_SERVER = {
    "wrong kind": "the registry of built-in kinds",
    "already exists": "the store",
    "resourceVersion on create": "the store",
    "accepted: real create, read back after it is established": "the CRD's controller, after acceptance",
    "accepted, but names conflict with another CRD of the group (read back)": "the CRD's controller, after acceptance",
}


def load(name: str) -> list[dict[str, Any]]:
    """Read a recording."""
    with lzma.open(_GOLDEN / f"{name}.jsonl.xz", "rt") as lines:
        return [json.loads(line) for line in lines]


def golden_text(name: str) -> str:
    """Read a plain file beside the recordings."""
    return (_GOLDEN / name).read_text()


def counted(causes: Any) -> Counter[tuple[str, str, str]]:
    """Return causes in a comparable form: their order is random on a real server."""
    return Counter((cause["reason"], cause["message"], cause["field"]) for cause in causes)
