"""Validation of Services: ports, addresses, what each type allows, and which fields cannot change."""

from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.names import (
    address_errors,
    cidr_errors,
    endpoint_address_errors,
    label_errors,
    labels_errors,
    qualified_errors,
    subdomain_errors,
)
from steersman.apiserver.builtin.common.numbers import port_errors, port_or_name_errors, protocol_errors
from steersman.apiserver.builtin.networking.service_addresses import ADDRESSES, address_field_errors
from steersman.apiserver.builtin.networking.service_types import (
    EXTERNAL_TYPES,
    HEADLESS_ADDRESS,
    is_external,
    is_headless,
    needs_health_check,
)
from steersman.json_types import JsonObject
from steersman.validation.field_errors import (
    OMITTED,
    Errors,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_MAX_AFFINITY = 86_400
_FIXED = "may not change once set"


def service_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Service."""
    if subresource == "status":
        return _status_errors(obj)
    spec = obj["spec"]
    errors = _immutable_field_errors(spec, old["spec"]) if old is not None else []
    ports = spec.get("ports") or []
    if not ports and not is_headless(spec) and spec.get("type") != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _type_errors(spec)
    errors += _port_list_errors(ports)
    errors += labels_errors(spec.get("selector"), "spec.selector")
    errors += _affinity_errors(spec)
    errors += address_field_errors(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        errors += address_errors(address, field) or endpoint_address_errors(address, field)
    errors += _node_port_errors(spec, ports)
    errors += _balancer_errors(spec)
    return errors + _traffic_errors(spec)


def _type_errors(spec: JsonObject) -> Errors:
    kind = spec.get("type") or ""
    if kind not in _TYPES:
        return [not_supported("spec.type", kind, _TYPES)] if kind else [required("spec.type")]
    if kind in EXTERNAL_TYPES and is_headless(spec):
        return [invalid(f"{ADDRESSES}[0]", HEADLESS_ADDRESS, f"may not be set to 'None' for {kind} services")]
    return _external_errors(spec) if kind == "ExternalName" else []


def _external_errors(spec: JsonObject) -> Errors:
    errors: Errors = [
        forbidden(f"spec.{name}", "may not be set for ExternalName services")
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(name)
    ]
    name = (spec.get("externalName") or "").removesuffix(".")
    return errors + (subdomain_errors(name, "spec.externalName") if name else [required("spec.externalName")])


def _port_list_errors(ports: Sequence[JsonObject]) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if name:
            errors += label_errors(name, f"{here}.name")
            if name in names:
                errors.append(duplicate(f"{here}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{here}.name"))
        errors += port_errors(port.get("port") or 0, f"{here}.port")
        errors += protocol_errors(port.get("protocol") or "", f"{here}.protocol")
        errors += port_or_name_errors(port.get("targetPort"), f"{here}.targetPort")
        if port.get("appProtocol") is not None:
            errors += qualified_errors(port["appProtocol"], f"{here}.appProtocol")
    return errors + _duplicate_errors(ports)


def _quoted_port(protocol: object, number: object) -> str:
    """Return a port with only protocol and number set, as Go prints the struct."""
    return f'{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}'


def _duplicate_errors(ports: Sequence[JsonObject]) -> Errors:
    errors: Errors = []
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            errors.append(FieldError(ErrorType.DUPLICATE, f"spec.ports[{index}]", OMITTED, _quoted_port(*key)))
        seen.add(key)
    return errors


def _node_port_errors(spec: JsonObject, ports: Sequence[JsonObject]) -> Errors:
    errors: Errors = []
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if not number:
            continue
        field = f"spec.ports[{index}].nodePort"
        if spec.get("type") == "ClusterIP":
            errors.append(forbidden(field, "may not be used when `type` is 'ClusterIP'"))
        if (port.get("protocol"), number) in seen:
            errors.append(duplicate(field, number))
        seen.add((port.get("protocol"), number))
    return errors


def _affinity_errors(spec: JsonObject) -> Errors:
    affinity, config = spec.get("sessionAffinity") or "", spec.get("sessionAffinityConfig")
    path = "spec.sessionAffinityConfig"
    if affinity not in ("ClientIP", "None"):
        field = "spec.sessionAffinity"
        return [not_supported(field, affinity, ["ClientIP", "None"])] if affinity else [required(field)]
    if affinity == "None":
        text = "must not be set when session affinity is None"
        return [forbidden(path, text)] if config is not None else []
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if seconds is None:
        return [required(path, "when session affinity type is ClientIP")]
    if 0 < seconds <= _MAX_AFFINITY:
        return []
    return [
        invalid(f"{path}.clientIP.timeoutSeconds", seconds, f"must be greater than 0 and less than {_MAX_AFFINITY}")
    ]


def _balancer_errors(spec: JsonObject) -> Errors:
    is_balancer = spec.get("type") == "LoadBalancer"
    errors: Errors = []
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges:
        field = "spec.LoadBalancerSourceRanges"
        if not is_balancer:
            errors.append(forbidden(field, _BALANCER_ONLY))
        for index, text in enumerate(ranges):
            errors += cidr_errors(text.strip(), f"{field}[{index}]")
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balancer:
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY))
    own = spec.get("loadBalancerClass")
    if own is not None:
        field = "spec.loadBalancerClass"
        errors += qualified_errors(own, field) if is_balancer else [forbidden(field, _BALANCER_ONLY)]
    return errors


def _traffic_errors(spec: JsonObject) -> Errors:
    errors = _external_policy_errors(spec)
    port = spec.get("healthCheckNodePort") or 0
    if needs_health_check(spec):
        errors += port_errors(port, "spec.healthCheckNodePort")
    elif port:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", port, text))
    internal = spec.get("internalTrafficPolicy")
    if internal is None and spec.get("type") in ("ClusterIP", *EXTERNAL_TYPES):
        errors.append(required("spec.internalTrafficPolicy"))
    elif internal is not None and internal not in _POLICIES:
        errors.append(not_supported("spec.internalTrafficPolicy", internal, _POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return errors


def _external_policy_errors(spec: JsonObject) -> Errors:
    external, field = spec.get("externalTrafficPolicy") or "", "spec.externalTrafficPolicy"
    if not is_external(spec):
        return [invalid(field, external, "may only be set for externally-accessible services")] if external else []
    if not external:
        return [required(field)]
    return [] if external in _POLICIES else [not_supported(field, external, _POLICIES)]


def _immutable_field_errors(spec: JsonObject, old: JsonObject) -> Errors:
    errors: Errors = []
    if "ExternalName" not in (spec.get("type"), old.get("type")) and not (is_headless(spec) and is_headless(old)):
        after, before = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
        if before and not after:
            errors.append(invalid(f"{ADDRESSES}[0]", after, "primary clusterIP can not be unset"))
        errors += [
            invalid(f"{ADDRESSES}[{index}]", after, _FIXED)
            for index, (new, known) in enumerate(zip(after, before, strict=False))
            if new != known
        ]
    own, known = spec.get("loadBalancerClass"), old.get("loadBalancerClass")
    if spec.get("type") == old.get("type") == "LoadBalancer" and own != known:
        errors.append(invalid("spec.loadBalancerClass", own, _FIXED))
    port, before_port = spec.get("healthCheckNodePort") or 0, old.get("healthCheckNodePort") or 0
    if needs_health_check(spec) and needs_health_check(old) and port != before_port:
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors


_MODES = ("Proxy", "VIP")


def _status_errors(obj: JsonObject) -> Errors:
    ingresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    path = "status.loadBalancer.ingress"
    if ingresses and obj["spec"].get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    return balancer_status_errors(ingresses, path)


def balancer_status_errors(ingresses: Sequence[JsonObject], path: str) -> Errors:
    """Validate the addresses of a load balancer in a status."""
    errors: Errors = []
    for index, ingress in enumerate(ingresses):
        here, mode = f"{path}[{index}]", ingress.get("ipMode")
        if ingress.get("ip"):
            errors += address_errors(ingress["ip"], f"{here}.ip")
        if mode is not None and not ingress.get("ip"):
            errors.append(forbidden(f"{here}.ipMode", "may not be specified when `ip` is not set"))
        elif mode is not None and mode not in _MODES:
            errors.append(not_supported(f"{here}.ipMode", mode, _MODES))
        if ingress.get("hostname"):
            errors += subdomain_errors(ingress["hostname"], f"{here}.hostname")
    return errors


def service_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about fields of a Service that have no effect or are deprecated."""
    del old
    spec = obj["spec"]
    kind, outside = spec.get("type"), spec.get("externalIPs")
    headless = kind == "ClusterIP" and spec.get("clusterIP") == HEADLESS_ADDRESS
    warnings = {
        "spec.loadBalancerIP is ignored for headless services": headless and spec.get("loadBalancerIP"),
        "spec.externalIPs is ignored for headless services": headless and outside,
        "spec.SessionAffinity is ignored for headless services": headless and spec.get("sessionAffinity") != "None",
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters": outside
        and not headless
        and kind != "ExternalName",
        'spec.externalIPs is ignored when spec.type is "ExternalName"': outside and kind == "ExternalName",
        'spec.externalName is ignored when spec.type is not "ExternalName"': spec.get("externalName")
        and kind != "ExternalName",
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': spec.get("trafficDistribution")
        == "PreferClose",
    }
    return [text for text, applies in warnings.items() if applies]
