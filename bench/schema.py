"""Time to prune, default and validate one custom object of 1.6 KB, and to compile its CRD.

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

from steersman.structural.compiled import compile_schema
from steersman.structural.crd.validation import validate_crd

_ROUNDS = 12
_SECONDS_A_ROUND = 0.05
_SEEDS = Path(__file__).parent.parent / "tests" / "golden" / "seed-crds.yaml"


def mgors() -> dict[str, Any]:
    """Return the CRD of a MongoDB replica set."""
    return next(crd for crd in yaml.safe_load_all(_SEEDS.read_text()) if crd["metadata"]["name"].startswith("mgorses"))


def without_rules(schema: Any) -> Any:
    """Return a schema without its CEL rules."""
    if isinstance(schema, dict):
        return {key: without_rules(part) for key, part in schema.items() if key != "x-kubernetes-validations"}
    return [without_rules(part) for part in schema] if isinstance(schema, list) else schema


def replica_set() -> dict[str, Any]:
    """Return an object of the kind: users with roles, storage, backup."""
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


def microseconds(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the time of one call of each: the best of a few rounds in turns, because noise only adds."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(_ROUNDS):
        for name, work in works.items():
            calls, start = 0, perf_counter()
            while (spent := perf_counter() - start) < _SECONDS_A_ROUND:
                work()
                calls += 1
            best[name] = min(best[name], spent / calls)
    return {name: seconds * 1e6 for name, seconds in best.items()}


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

    whole_name = "steersman: prune + default + validate"
    costs = microseconds(
        {
            "msgspec: decode (for scale)": lambda: decode(raw),
            whole_name: whole,
            "  prune": lambda: compiled.prune(stored),
            "  default": lambda: compiled.default(stored),
            "  validate": lambda: compiled.validate(stored),
            "fastjsonschema: validate": lambda: fast(stored),
            "jsonschema-rs: validate": lambda: rust.is_valid(stored),
        }
    )
    costs[whole_name] -= costs["msgspec: decode (for scale)"]
    print(f"one object of {len(raw)} bytes")
    for name, cost in costs.items():
        print(f"  {name:<40}{cost:8.1f} µs")
    ratio = costs[whole_name] / costs["fastjsonschema: validate"]
    print(f"  {'all three, beside fastjsonschema':<40}{ratio:8.2f} x")
    print("the Mgors CRD")
    full = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    compiling = microseconds(
        {
            "steersman: compile, with rules": lambda: compile_schema(full),
            "steersman: compile, without rules": lambda: compile_schema(schema),
            "steersman: review as a server does": lambda: validate_crd(crd),
            "fastjsonschema: compile": lambda: fastjsonschema.compile(schema),
            "jsonschema-rs: compile": lambda: jsonschema_rs.validator_for(schema),
        }
    )
    for name, cost in compiling.items():
        print(f"  {name:<40}{cost / 1000:8.2f} ms")


if __name__ == "__main__":
    main()
