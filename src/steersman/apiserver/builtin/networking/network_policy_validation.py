"""Validation of NetworkPolicies."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import cidr_errors, port_name_faults
from steersman.apiserver.builtin.common.numbers import port_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Ingress", "Egress")


def network_policy_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a NetworkPolicy."""
    del old, subresource
    spec = obj.get("spec") or {}
    errors = selector_errors(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            here = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                errors += _policy_port_errors(port, f"{here}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                errors += _peer_errors(peer, f"{here}.{peers}[{number}]")
    return errors + _direction_errors(spec.get("policyTypes") or [])


def _direction_errors(directions: Sequence[str]) -> Errors:
    if len(directions) > len(_DIRECTIONS):
        return [invalid("spec.policyTypes", directions, "may not specify more than two policyTypes")]
    return [
        not_supported(f"spec.policyTypes[{index}]", direction, _DIRECTIONS)
        for index, direction in enumerate(directions)
        if direction not in _DIRECTIONS
    ]


def _policy_port_errors(port: JsonObject, path: str) -> Errors:
    errors: Errors = []
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if number is None:
        if end is not None:
            errors.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified"))
    elif number.__class__ is str:
        if end is not None:
            errors.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
        errors += [invalid(f"{path}.port", number, fault) for fault in port_name_faults(number)]
    else:
        errors += port_errors(number, f"{path}.port") + _end_errors(number, end, path)
    return errors


def _end_errors(number: int, end: int | None, path: str) -> Errors:
    if end is None:
        return []
    errors = port_errors(end, f"{path}.endPort")
    if end < number:
        # Kubernetes quotes the port here, not the end of the range.
        errors.append(invalid(f"{path}.endPort", number, "must be greater than or equal to `port`"))
    return errors


def _peer_errors(peer: JsonObject, path: str) -> Errors:
    errors: Errors = []
    others = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    for name in others:
        errors += selector_errors(peer[name], f"{path}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, f"{path}.ipBlock")
    if block is None and not others:
        errors.append(required(path, "must specify a peer"))
    elif block is not None and others:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: JsonObject, path: str) -> Errors:
    cidr = block.get("cidr") or ""
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = cidr_errors(cidr, f"{path}.cidr")
    if errors:
        return errors
    whole = ipaddress.ip_network(cidr, strict=False)
    for index, text in enumerate(block.get("except") or ()):
        field = f"{path}.except[{index}]"
        found = cidr_errors(text, field)
        errors += found
        if not found and not _is_part(ipaddress.ip_network(text, strict=False), whole):
            errors.append(invalid(field, text, "must be a strict subset of `cidr`"))
    return errors


def _is_part(part: Any, whole: Any) -> bool:
    return bool(part.version == whole.version and part != whole and part.subnet_of(whole))
