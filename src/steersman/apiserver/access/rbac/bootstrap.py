"""The roles and bindings that every cluster begins with."""

import json
import lzma
from functools import cache
from importlib.resources import files

from steersman.apiserver.access.rbac.aggregation import MANAGER, aggregated_rules
from steersman.apiserver.access.rbac.bindings import GROUP
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.json_types import JsonObject
from steersman.randomness import Randomness


@cache
def _objects() -> dict[str, list[JsonObject]]:
    """Read the table; it is made by ``tools/generate_server_rbac.py``."""
    data = files("steersman.apiserver").joinpath("data/rbac.json.xz").read_bytes()
    found: dict[str, list[JsonObject]] = json.loads(lzma.decompress(data))
    return found


@cache
def _aggregated() -> dict[str, list[JsonObject]]:
    """Return the same with all aggregated roles filled."""
    objects = _objects()
    roles = {role["metadata"]["name"]: role for role in objects["clusterroles"]}
    filled = {}
    for name, rules in aggregated_rules(roles).items():
        role = roles[name]
        (entry,) = role["metadata"]["managedFields"]
        mine = {**entry, "manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:rules": {}}}
        filled[name] = {**role, "metadata": {**role["metadata"], "managedFields": [mine, entry]}, "rules": rules}
    return {**objects, "clusterroles": [filled.get(name, role) for name, role in roles.items()]}


def bootstrap_roles(
    objects: ObjectStore, catalog: Catalog, randomness: Randomness, time: str, *, aggregates: bool
) -> None:
    """Create the first roles and bindings of an empty store; aggregated roles are empty unless ``aggregates``."""
    for resource, roles in (_aggregated() if aggregates else _objects()).items():
        served = catalog.find(GROUP, "v1", resource)
        assert served is not None, "built in"  # noqa: S101 - the table of resources has it
        for obj in roles:
            given = obj["metadata"]
            metadata = {key: given[key] for key in ("name", "namespace") if key in given}
            metadata |= {"uid": randomness.uid(), "resourceVersion": "", "creationTimestamp": time}
            metadata |= {key: given[key] for key in ("labels", "annotations")}
            metadata["managedFields"] = [_entry(entry, time) for entry in given["managedFields"]]
            objects.put(served, {**obj, "metadata": metadata})


def _entry(entry: JsonObject, time: str) -> JsonObject:
    head = {key: entry[key] for key in ("manager", "operation", "apiVersion")}
    return {**head, "time": time, "fieldsType": entry["fieldsType"], "fieldsV1": entry["fieldsV1"]}
