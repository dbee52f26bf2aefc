"""Values that a cluster assigns to an object, which differ between two runs of a scenario.

Cluster IPs and node ports are allocated by the API server, pod IPs by a node, tokens are signed. A value that a client
asked for is not assigned: a field manager owns that field.
"""

import json
from collections.abc import Iterator
from typing import TypeAlias

from steersman.json_types import JsonObject

#: An assigned value and the name of its field.
Assigned: TypeAlias = tuple[str | int, str]

_TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - the type of a Secret


def assigned_values(document: JsonObject) -> Iterator[Assigned]:
    """Yield the values that the cluster assigned to an object, except uids and generated names."""
    match document.get("apiVersion"), document.get("kind"):
        case "v1", "Service":
            yield from _of_service(document)
        case "v1", "Pod":
            status = document.get("status") or {}
            addresses = [status.get("podIP"), *(entry.get("ip") for entry in status.get("podIPs") or ())]
            yield from ((address, "podIP") for address in addresses if address)
            names = (volume.get("name", "") for volume in (document.get("spec") or {}).get("volumes") or ())
            yield from ((name, "token volume") for name in names if name.startswith("kube-api-access-"))
        case "v1", "Secret" if document.get("type") == _TOKEN_TYPE:
            for key, value in (document.get("data") or {}).items():
                if key != "namespace":
                    yield value, key


def _of_service(document: JsonObject) -> Iterator[Assigned]:
    spec = document.get("spec") or {}
    owned = [_fields(entry, "spec") for entry in document["metadata"].get("managedFields") or ()]
    if not any(fields.keys() & {"f:clusterIP", "f:clusterIPs"} for fields in owned):
        addresses = dict.fromkeys([spec.get("clusterIP"), *(spec.get("clusterIPs") or ())])
        yield from ((address, "clusterIP") for address in addresses if address and address != "None")
    if spec.get("healthCheckNodePort") and not any("f:healthCheckNodePort" in fields for fields in owned):
        yield spec["healthCheckNodePort"], "healthCheckNodePort"
    ports = [fields.get("f:ports") or {} for fields in owned]
    for port in spec.get("ports") or ():
        if port.get("nodePort") and not any("f:nodePort" in _of_port(entries, port) for entries in ports):
            yield port["nodePort"], f"nodePort of port {port.get('name') or port['port']}"


def _fields(entry: JsonObject, name: str) -> JsonObject:
    fields: JsonObject = (entry.get("fieldsV1") or {}).get(f"f:{name}") or {}
    return fields


def _of_port(entries: JsonObject, port: JsonObject) -> JsonObject:
    """Return the fields of a port that a manager owns; list items are identified by port and protocol."""
    wanted = {"port": port["port"], "protocol": port.get("protocol", "TCP")}
    for key, fields in entries.items():
        if key.startswith("k:") and json.loads(key[2:]) == wanted:
            found: JsonObject = fields
            return found
    return {}
