"""Columns of Services, endpoints, Ingresses, NetworkPolicies and ServiceCIDRs."""

from datetime import datetime

from steersman.apiserver.builtin.common.cells import (
    AGE,
    NONE,
    UNSET,
    at,
    column,
    field,
    joined,
    labels,
    selector_cell,
    shortened,
)
from steersman.apiserver.resources.columns import NAME, Column
from steersman.json_types import JsonObject


def _load_balancer_addresses(obj: JsonObject) -> list[str]:
    """Return the addresses of a load balancer, sorted and without duplicates."""
    found = at(obj, "status", "loadBalancer", "ingress", default=())
    return sorted({item.get("ip") or item.get("hostname") or "" for item in found} - {""})


def _external_address(obj: JsonObject, _now: datetime) -> str:
    spec = obj["spec"]
    outside = spec.get("externalIPs") or []
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or NONE
    if spec.get("type") == "LoadBalancer":
        outside = _load_balancer_addresses(obj) + outside
        return ",".join(outside) or "<pending>"
    return ",".join(outside) or NONE


def _service_ports(obj: JsonObject, _now: datetime) -> str:
    parts = []
    for port in obj["spec"].get("ports") or ():
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        parts.append(f"{port['port']}{outside}/{port.get('protocol', 'TCP')}")
    return ",".join(parts) or NONE


def _ingress_hosts(obj: JsonObject, _now: datetime) -> str:
    hosts = [rule["host"] for rule in at(obj, "spec", "rules", default=()) if rule.get("host")]
    return shortened(hosts, "*")


def _ingress_address(obj: JsonObject, _now: datetime) -> str:
    return ",".join(_load_balancer_addresses(obj))


def _ingress_ports(obj: JsonObject, _now: datetime) -> str:
    return "80, 443" if at(obj, "spec", "tls") else "80"


def _pod_selector(obj: JsonObject, _now: datetime) -> str:
    return selector_cell(at(obj, "spec", "podSelector"))


SERVICE = (
    NAME,
    column("Type", field("spec", "type")),
    column("Cluster-IP", field("spec", "clusterIP", default=NONE)),
    column("External-IP", _external_address),
    column("Port(s)", _service_ports),
    AGE,
    column("Selector", labels("spec", "selector"), wide=True),
)
INGRESS = (
    NAME,
    column("Class", field("spec", "ingressClassName", default=NONE)),
    column("Hosts", _ingress_hosts),
    column("Address", _ingress_address),
    column("Ports", _ingress_ports),
    AGE,
)
NETWORK_POLICY = (NAME, column("Pod-Selector", _pod_selector), AGE)
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _endpoints(obj: JsonObject, _now: datetime) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = [f":{port.get('port', 0)}" for port in subset.get("ports") or ()] or [""]
        found += [f"{address}{port}" for port in ports for address in addresses]
    return shortened(found)


def _slice_ports(obj: JsonObject, _now: datetime) -> str:
    ports = [
        str(port["port"]) if port.get("port") is not None else port.get("name", "*") for port in obj.get("ports") or ()
    ]
    return shortened(ports, UNSET) or UNSET


def _slice_endpoints(obj: JsonObject, _now: datetime) -> str:
    found = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return shortened(found, UNSET)


def _ingress_class(obj: JsonObject, _now: datetime) -> str:
    is_default = at(obj, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    return f"{obj['metadata']['name']} (default)" if is_default else str(obj["metadata"]["name"])


def _parameters(obj: JsonObject, _now: datetime) -> str:
    found = at(obj, "spec", "parameters")
    if found is None:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") is not None else ""
    return f"{found.get('kind', '')}{group}/{found.get('name', '')}"


ENDPOINTS = (NAME, column("Endpoints", _endpoints), AGE)
ENDPOINT_SLICE = (
    NAME,
    column("AddressType", field("addressType")),
    column("Ports", _slice_ports),
    column("Endpoints", _slice_endpoints),
    AGE,
)
INGRESS_CLASS = (
    Column("Name", _ingress_class, format="name", description=NAME.description),
    column("Controller", field("spec", "controller")),
    column("Parameters", _parameters),
    AGE,
)
SERVICE_CIDR = (NAME, column("CIDRs", joined("spec", "cidrs", empty="")), AGE)
