"""What it costs to prune, default and validate one custom object of 1.6 KB, and to compile its CRD.

Beside it two JSON Schema validators. They only validate: they neither prune nor default, know no list types, and have
other messages. The rules in CEL are left out here on both sides; `bench.cel` measures those.
"""

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import fastjsonschema
import jsonschema_rs
import msgspec
import yaml

from steersman.schema.compiled import compile_schema
from steersman.schema.crd_validation import validate_crd

_ROUNDS = 7
_SECONDS_A_ROUND = 0.05
_SEEDS = Path(__file__).parent.parent / "tests" / "golden" / "seed-crds.yaml"


def mgors() -> dict[str, Any]:
    """Give the CRD of a Mongo replica set."""
    return next(crd for crd in yaml.safe_load_all(_SEEDS.read_text()) if crd["metadata"]["name"].startswith("mgorses"))


def without_rules(schema: Any) -> Any:
    """Give a schema without its CEL rules."""
    if isinstance(schema, dict):
        return {key: without_rules(part) for key, part in schema.items() if key != "x-kubernetes-validations"}
    return [without_rules(part) for part in schema] if isinstance(schema, list) else schema


def replica_set() -> dict[str, Any]:
    """Give an object of the kind: users with roles, storage, backup."""
    users = [
        {
            "name": f"application-user-{number}",
            "db": "admin",
            "passwordSecretRef": {"name": f"application-user-{number}-credentials"},
            "roles": [{"name": "readWrite", "db": f"database-{number}"}, {"name": "clusterMonitor", "db": "admin"}],
        }
        for number in range(5)
    ]
    return {
        "apiVersion": "mongo.example.com/v1",
        "kind": "Mgors",
        "metadata": {"name": "orders", "namespace": "shop", "labels": {"app.kubernetes.io/name": "orders"}},
        "spec": {
            "members": 3,
            "replicaSetName": "orders-rs0",
            "image": "registry.example.com/mongo:7.0.12",
            "storage": {"size": "100Gi", "className": "fast-ssd"},
            "auth": {"secretName": "orders-keyfile"},
            "users": users,
            "monitoring": {"enabled": True},
            "backup": {"schedule": "0 3 * * *", "storage": {"bucket": "backups", "prefix": "orders/"}},
            "unsafe": {},
        },
        "status": {"members": 3, "primary": "orders-1", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def microseconds(work: Callable[[], object]) -> float:
    """Measure one call: the best of a few rounds, because others use the machine too."""
    work()
    best = float("inf")
    for _ in range(_ROUNDS):
        calls, start = 0, perf_counter()
        while perf_counter() - start < _SECONDS_A_ROUND:
            for _ in range(10):
                work()
            calls += 10
        best = min(best, (perf_counter() - start) / calls)
    return best * 1e6


def main() -> None:
    """Print the table."""
    crd = mgors()
    schema = without_rules(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    raw = json.dumps(replica_set(), separators=(",", ":")).encode()
    decode = msgspec.json.Decoder().decode
    compiled, fast = compile_schema(schema), fastjsonschema.compile(schema)
    rust = jsonschema_rs.validator_for(schema)
    stored = decode(raw)
    compiled.default(stored)

    def whole() -> None:
        obj = decode(raw)
        compiled.prune(obj)
        compiled.default(obj)
        assert not compiled.validate(obj).errors

    decoding = microseconds(lambda: decode(raw))
    rows = {
        "steersman: prune + default + validate": microseconds(whole) - decoding,
        "  prune": microseconds(lambda: compiled.prune(stored)),
        "  default": microseconds(lambda: compiled.default(stored)),
        "  validate": microseconds(lambda: compiled.validate(stored)),
        "fastjsonschema: validate": microseconds(lambda: fast(stored)),
        "jsonschema-rs: validate": microseconds(lambda: rust.is_valid(stored)),
        "msgspec: decode (for scale)": decoding,
    }
    print(f"one object of {len(raw)} bytes")
    for name, cost in rows.items():
        print(f"  {name:<40}{cost:8.1f} µs")
    print("the Mgors CRD")
    full = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    print(f"  {'steersman: compile, with rules':<40}{microseconds(lambda: compile_schema(full)) / 1000:8.2f} ms")
    print(f"  {'steersman: compile, without rules':<40}{microseconds(lambda: compile_schema(schema)) / 1000:8.2f} ms")
    print(f"  {'steersman: review as a server does':<40}{microseconds(lambda: validate_crd(crd)) / 1000:8.2f} ms")
    print(f"  {'fastjsonschema: compile':<40}{microseconds(lambda: fastjsonschema.compile(schema)) / 1000:8.2f} ms")
    print(f"  {'jsonschema-rs: compile':<40}{microseconds(lambda: jsonschema_rs.validator_for(schema)) / 1000:8.2f} ms")


if __name__ == "__main__":
    main()
