"""Ingresses, IngressClasses, NetworkPolicies and ServiceCIDRs."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import (
    cidr_errors,
    host_errors,
    label_errors,
    parsed_address,
    port_name_faults,
    required_name,
    subdomain_errors,
)
from steersman.apiserver.builtin.common.numbers import port_errors
from steersman.apiserver.builtin.networking.service_validation import balancer_status_errors
from steersman.golang.empty_values import same_content
from steersman.validation.field_errors import FieldError, forbidden, invalid, not_supported, required
from steersman.validation.names import path_segment_faults

Document = dict[str, Any]
Errors = list[FieldError]
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Ingress", "Egress")
_IMMUTABLE = "field is immutable"
_PREFIXED_RULE = 'must be a domain-prefixed path (such as "acme.io/foo")'
_MOST = 2


def ingress_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about an Ingress."""
    if subresource == "status":
        ingresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return balancer_status_errors(ingresses, "status.loadBalancer.ingress")
    spec = obj.get("spec") or {}
    errors: Errors = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        errors.append(invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
    if spec.get("defaultBackend") is not None:
        errors += _backend_errors(spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        errors += _rule_errors(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        errors += _tls_errors(tls, f"spec.tls[{index}]")
    own = spec.get("ingressClassName")
    if own is not None:
        errors += subdomain_errors(own, "spec.ingressClassName")
        noted = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
        if old is None and noted is not None and noted != own:
            text = "must match `ingressClassName` when both are specified"
            errors.append(invalid(f"annotations.{_CLASS_ANNOTATION}", noted, text))
    return errors


def _rule_errors(rule: Document, path: str) -> Errors:
    errors: Errors = []
    host = rule.get("host") or ""
    if host:
        if parsed_address(host) is not None:
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += host_errors(host, f"{path}.host")
    http = rule.get("http")
    if http is None:
        return errors
    if not http.get("paths"):
        return [*errors, required(f"{path}.http.paths")]
    for index, place in enumerate(http["paths"]):
        errors += _path_errors(place, f"{path}.http.paths[{index}]")
    return errors


def _path_errors(place: Document, path: str) -> Errors:
    kind, text = place.get("pathType"), place.get("path") or ""
    if not kind:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(f"{path}.path", text, f"must not contain '{bad}'") for bad in _BAD_PARTS if bad in text]
        errors += [invalid(f"{path}.path", text, f"cannot end with '{bad}'") for bad in _BAD_ENDS if text.endswith(bad)]
    return errors + _backend_errors(place.get("backend") or {}, f"{path}.backend")


def _backend_errors(backend: Document, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference_errors(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = required_name(service, "name", f"{path}.service", label_errors)
    port = service.get("port") or {}
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif name:
        errors += [invalid(f"{path}.service.port.name", name, fault) for fault in port_name_faults(name)]
    elif number:
        errors += port_errors(number, f"{path}.service.port.number")
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _segment_errors(name: str, field: str) -> Errors:
    return [invalid(field, name, fault) for fault in path_segment_faults(name)]


def _reference_errors(reference: Document, path: str) -> Errors:
    errors: Errors = []
    if reference.get("apiGroup") is not None:
        errors += subdomain_errors(reference["apiGroup"], f"{path}.apiGroup")
    errors += required_name(reference, "kind", path, _segment_errors)
    return errors + required_name(reference, "name", path, _segment_errors)


def _tls_errors(tls: Document, path: str) -> Errors:
    errors: Errors = []
    for index, host in enumerate(tls.get("hosts") or ()):
        errors += host_errors(host, f"{path}.hosts[{index}]")
    if tls.get("secretName"):
        errors += subdomain_errors(tls["secretName"], f"{path}.secretName")
    return errors


def domain_prefixed_errors(text: str, field: str) -> Errors:
    """Complain about what is not a domain and a path."""
    if not text:
        return [required(field)]
    host, slash, rest = text.partition("/")
    if not slash or not host or not rest:
        return [invalid(field, text, _PREFIXED_RULE)]
    errors = subdomain_errors(host, field)
    if not re.fullmatch(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", rest):
        text_ = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
        errors.append(invalid(field, rest, text_))
    return errors


def ingress_class_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about an IngressClass."""
    del subresource
    spec = obj.get("spec") or {}
    controller = spec.get("controller") or ""
    errors: Errors = []
    if old is not None and controller != ((old.get("spec") or {}).get("controller") or ""):
        errors.append(invalid("spec.controller", controller, _IMMUTABLE))
    elif old is None:
        errors += domain_prefixed_errors(controller, "spec.controller")
    if spec.get("parameters") is not None:
        errors += _parameter_errors(spec["parameters"], "spec.parameters")
    return errors


def _parameter_errors(parameters: Document, path: str) -> Errors:
    errors = _reference_errors(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        return [*errors, required(f"{path}.scope")]
    if scope not in ("Cluster", "Namespace"):
        return [*errors, not_supported(f"{path}.scope", scope, ["Cluster", "Namespace"])]
    if scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += label_errors(namespace, f"{path}.namespace")
    return errors


def network_policy_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a NetworkPolicy."""
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


def _policy_port_errors(port: Document, path: str) -> Errors:
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
        # The value that is told is the port's, not the end's.
        errors.append(invalid(f"{path}.endPort", number, "must be greater than or equal to `port`"))
    return errors


def _peer_errors(peer: Document, path: str) -> Errors:
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


def _block_errors(block: Document, path: str) -> Errors:
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


def service_cidr_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a range of addresses of Services."""
    if subresource == "status":
        return []
    ranges = (obj.get("spec") or {}).get("cidrs") or []
    path = "spec.cidrs"
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > _MOST:
        return [invalid(path, ranges, "may only hold up to 2 values")]
    errors: Errors = []
    for index, text in enumerate(ranges):
        errors += cidr_errors(text, f"{path}[{index}]")
    if old is not None and not same_content(ranges, (old.get("spec") or {}).get("cidrs")):
        errors.append(invalid(path, ranges, _IMMUTABLE))
    return errors
