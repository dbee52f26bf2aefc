"""Validation of Endpoints and EndpointSlices."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.names import (
    address_errors,
    endpoint_address_errors,
    label_errors,
    parsed_address,
    qualified_errors,
    subdomain_errors,
)
from steersman.apiserver.builtin.common.numbers import port_errors, protocol_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required, too_many

_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS = 1000
_MOST_ADDRESSES = 100
_MOST_PORTS = 20_000


def endpoint_slice_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an EndpointSlice."""
    del subresource
    kind = obj.get("addressType") or ""
    errors: Errors = []
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _TYPES:
        errors.append(not_supported("addressType", kind, _TYPES))
    if old is not None and kind != (old.get("addressType") or ""):
        errors.append(invalid("addressType", kind, "field is immutable"))
    errors += _port_list_errors(obj.get("ports") or ())
    endpoints = obj.get("endpoints") or ()
    if old is not None and same_content(endpoints, old.get("endpoints") or ()):
        return errors
    if len(endpoints) > _MOST_ENDPOINTS:
        return [*errors, too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)]
    for index, endpoint in enumerate(endpoints):
        errors += _endpoint_errors(endpoint, kind, f"endpoints[{index}]")
    return errors


def _port_list_errors(ports: Sequence[JsonObject]) -> Errors:
    if len(ports) > _MOST_PORTS:
        return [too_many("ports", len(ports), _MOST_PORTS)]
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"ports[{index}]", port.get("name") or ""
        if name:
            errors += label_errors(name, f"{here}.name")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        errors += protocol_errors(port.get("protocol") or "", f"{here}.protocol")
        if port.get("appProtocol") is not None:
            errors += qualified_errors(port["appProtocol"], f"{here}.appProtocol")
    return errors


def _endpoint_errors(endpoint: JsonObject, kind: str, path: str) -> Errors:
    addresses = endpoint.get("addresses") or ()
    errors: Errors = []
    if not addresses:
        errors.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > _MOST_ADDRESSES:
        errors.append(too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES))
    for index, address in enumerate(addresses):
        errors += _address_errors(address, kind, f"{path}.addresses", index)
    if endpoint.get("nodeName") is not None:
        errors += subdomain_errors(endpoint["nodeName"], f"{path}.nodeName")
    if endpoint.get("hostname") is not None:
        errors += label_errors(endpoint["hostname"], f"{path}.hostname")
    return errors


def _address_errors(address: str, kind: str, path: str, index: int) -> Errors:
    field = f"{path}[{index}]"
    if kind == "FQDN":
        return subdomain_errors(address.removesuffix("."), field)
    if kind not in _TYPES:
        return []
    errors = address_errors(address, field)
    parsed = parsed_address(address)
    if parsed is None:
        return errors
    if kind != f"IPv{parsed.version}":
        errors.append(invalid(path, address, f"must be an {kind} address"))
    return errors + endpoint_address_errors(address, field)


def endpoints_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate Endpoints."""
    del subresource
    subsets = obj.get("subsets") or ()
    if old is not None and same_content(subsets, old.get("subsets") or ()):
        return []
    errors: Errors = []
    for index, subset in enumerate(subsets):
        here = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(here, "must specify `addresses` or `notReadyAddresses`"))
        for name in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(name) or ()):
                errors += _subset_address_errors(address, f"{here}.{name}[{number}]")
        errors += _subset_port_errors(subset.get("ports") or (), f"{here}.ports")
    return errors


def _subset_address_errors(address: JsonObject, path: str) -> Errors:
    errors = address_errors(address.get("ip") or "", f"{path}.ip")
    if address.get("hostname"):
        errors += label_errors(address["hostname"], f"{path}.hostname")
    if address.get("nodeName") is not None:
        errors += subdomain_errors(address["nodeName"], f"{path}.nodeName")
    return errors + endpoint_address_errors(address.get("ip") or "", f"{path}.ip")


def _subset_port_errors(ports: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    for index, port in enumerate(ports):
        here, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            errors += label_errors(name, f"{here}.name")
        elif len(ports) > 1:
            errors.append(required(f"{here}.name"))
        errors += port_errors(port.get("port") or 0, f"{here}.port")
        errors += protocol_errors(port.get("protocol") or "", f"{here}.protocol")
        if port.get("appProtocol") is not None:
            errors += qualified_errors(port["appProtocol"], f"{here}.appProtocol")
    return errors
