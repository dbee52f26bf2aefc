"""Time to track the owners of fields: create, update and apply of a custom resource of 1.6 KB.

The yardstick, measured in the same run, is decoding and encoding the object: what any server must do anyway.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import msgspec

from steersman.apiserver.builtin.types import type_builder
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.protocol.patches import apply_merge_patch

_ROUNDS = 9
_SECONDS_A_ROUND = 0.05
_TIME = "2026-01-01T00:00:00Z"
_STRING = {"type": "string"}
_QUANTITIES = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}


def _keyed(keys: list[str], **fields: Any) -> dict[str, Any]:
    item = {"type": "object", "properties": fields}
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item}


def schema() -> dict[str, Any]:
    """Return the schema of a resource with every kind of list and map."""
    condition = dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), _STRING)
    spec = {
        "replicas": {"type": "integer"},
        "image": _STRING,
        "paused": {"type": "boolean"},
        "labels": {"type": "object", "additionalProperties": _STRING},
        "env": _keyed(["name"], name=_STRING, value=_STRING),
        "ports": _keyed(["port", "protocol"], port={"type": "integer"}, protocol=_STRING, name=_STRING),
        "args": {"type": "array", "items": _STRING},
        "resources": {"type": "object", "properties": {"limits": _QUANTITIES, "requests": _QUANTITIES}},
        "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    status = {"replicas": {"type": "integer"}, "conditions": _keyed(["type"], **condition)}
    return {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": status},
        },
    }


def widget() -> dict[str, Any]:
    """Return an object of about 1.6 KB."""
    quantities = {"cpu": "500m", "memory": "256Mi"}
    return {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": {
            "name": "widget",
            "namespace": "default",
            "uid": "8f14e45f-ceea-467f-9575-6f0d0b6f1c53",
            "creationTimestamp": _TIME,
            "generation": 1,
            "labels": {"app": "widget", "tier": "web"},
            "annotations": {"example.com/note": "x" * 150},
        },
        "spec": {
            "replicas": 3,
            "image": "registry.example.com/shop/web:1.27.3",
            "paused": False,
            "labels": {f"label-{n}": "value" for n in range(5)},
            "env": [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(8)],
            "ports": [{"port": 8080 + n, "protocol": "TCP", "name": f"port-{n}"} for n in range(3)],
            "args": ["--verbose", "--config=/etc/widget.yaml"],
            "resources": {"limits": quantities, "requests": quantities},
            "template": {"metadata": {"labels": {"a": "b"}}, "data": {"numbers": [1, 2, 3], "text": "t" * 40}},
        },
        "status": {
            "replicas": 3,
            "conditions": [
                {"type": kind, "status": "True", "reason": "Done", "message": "m" * 30, "lastTransitionTime": _TIME}
                for kind in ("Ready", "Available")
            ],
        },
    }


def _microseconds(work: Callable[[], object]) -> float:
    """Return the time of one call in the best round."""
    best = float("inf")
    for _ in range(_ROUNDS):
        calls, start = 0, perf_counter()
        while perf_counter() - start < _SECONDS_A_ROUND:
            work()
            calls += 1
        best = min(best, (perf_counter() - start) / calls)
    return best * 1e6


def _changed(obj: dict[str, Any], part: str, **members: Any) -> dict[str, Any]:
    """Return a fresh copy with some members of a part replaced; ``None`` removes one."""
    copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    copy[part] = {key: value for key, value in {**copy[part], **members}.items() if value is not None}
    return copy


def cases() -> dict[str, Callable[[], object]]:
    """Return the measured calls, keyed by name."""
    kind = type_builder().custom_resource(schema())
    main = Endpoint(api_version="demo.dev/v1", type=kind, reset_fields=set_of(("status",)))
    status = Endpoint(
        api_version="demo.dev/v1", type=kind, subresource="status", reset_fields=set_of(("spec",), ("metadata",))
    )
    obj = widget()
    live = updater.create(obj, "creator", endpoint=main, time=_TIME)
    config = {**obj, "metadata": {"name": "widget", "labels": {"app": "widget"}}}
    del config["status"]
    applied = {**updater.apply({}, config, "applier", endpoint=main, time=_TIME)}
    one_field, one_status = _changed(live, "spec", replicas=4), _changed(live, "status", replicas=4)
    patched = apply_merge_patch(live, {"spec": {"replicas": 4}})
    other_config, less_config = _changed(config, "spec", replicas=4), _changed(config, "spec", replicas=None)
    return {
        "decode and encode the object": lambda: msgspec.json.encode(msgspec.json.decode(msgspec.json.encode(obj))),
        "create": lambda: updater.create(obj, "creator", endpoint=main, time=_TIME),
        "update of one field": lambda: updater.update(live, one_field, "writer", endpoint=main, time=_TIME),
        "patch of one field": lambda: updater.update(live, patched, "writer", endpoint=main, time=_TIME),
        "update of the status": lambda: updater.update(live, one_status, "writer", endpoint=status, time=_TIME),
        "apply, new object": lambda: updater.apply({}, config, "applier", endpoint=main, time=_TIME),
        "apply, nothing new": lambda: updater.apply(applied, config, "applier", endpoint=main, time=_TIME),
        "apply, one field": lambda: updater.apply(applied, other_config, "applier", endpoint=main, time=_TIME),
        "apply, one field dropped": lambda: updater.apply(applied, less_config, "applier", endpoint=main, time=_TIME),
    }


def main() -> None:
    """Print the table."""
    measured = {name: _microseconds(work) for name, work in cases().items()}
    yardstick = next(iter(measured.values()))
    print(f"object of {len(msgspec.json.encode(widget()))} bytes")
    for name, microseconds in measured.items():
        print(f"  {name:32} {microseconds:8.1f} µs   {microseconds / yardstick:6.1f} x")


if __name__ == "__main__":
    main()
