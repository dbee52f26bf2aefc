"""Validation of Ingresses and IngressClasses."""

from steersman.apiserver.builtin.common.names import (
    domain_prefixed_errors,
    host_errors,
    label_errors,
    parsed_address,
    port_name_faults,
    required_name,
    subdomain_errors,
)
from steersman.apiserver.builtin.common.numbers import port_errors
from steersman.apiserver.builtin.networking.service_validation import balancer_status_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required
from steersman.validation.names import path_segment_faults

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_IMMUTABLE = "field is immutable"


def ingress_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an Ingress."""
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


def _rule_errors(rule: JsonObject, path: str) -> Errors:
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


def _path_errors(place: JsonObject, path: str) -> Errors:
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


def _backend_errors(backend: JsonObject, path: str) -> Errors:
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


def _reference_errors(reference: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if reference.get("apiGroup") is not None:
        errors += subdomain_errors(reference["apiGroup"], f"{path}.apiGroup")
    errors += required_name(reference, "kind", path, _segment_errors)
    return errors + required_name(reference, "name", path, _segment_errors)


def _tls_errors(tls: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, host in enumerate(tls.get("hosts") or ()):
        errors += host_errors(host, f"{path}.hosts[{index}]")
    if tls.get("secretName"):
        errors += subdomain_errors(tls["secretName"], f"{path}.secretName")
    return errors


def ingress_class_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate an IngressClass."""
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


def _parameter_errors(parameters: JsonObject, path: str) -> Errors:
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


def ingress_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return a warning for the annotation that ``spec.ingressClassName`` replaced."""
    if old is None and _CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
        return [f"annotation \"{_CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []
