"""Services, Ingresses and bindings of roles."""

import ipaddress
from typing import Any

from steersman.apiserver.validation.pods import port_errors
from steersman.protocol.equality import json_equal
from steersman.schema.field_errors import (
    OMITTED,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.schema.names import label_faults

Document = dict[str, Any]
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def service_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a Service."""
    del old
    if subresource == "status":
        return _ingress_errors(obj)
    spec = obj["spec"]
    errors = _port_list_errors(spec)
    if spec.get("type") not in _TYPES:
        errors.append(not_supported("spec.type", spec.get("type", ""), _TYPES))
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        errors.append(not_supported("spec.sessionAffinity", spec.get("sessionAffinity", ""), ["ClientIP", "None"]))
    if spec.get("type") == "ExternalName" and not spec.get("externalName"):
        errors.append(required("spec.externalName"))
    return errors


def _ingress_errors(obj: Document) -> list[FieldError]:
    ingresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    path = "status.loadBalancer.ingress"
    if ingresses and obj["spec"].get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    return [
        invalid(f"{path}[{index}].ip", ingress["ip"], text)
        for index, ingress in enumerate(ingresses)
        if ingress.get("ip") and not _is_address(ingress["ip"])
    ]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _port_list_errors(spec: Document) -> list[FieldError]:
    ports = spec.get("ports") or []
    if not ports and spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None":
        return [required("spec.ports")]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"spec.ports[{index}]"
        name = port.get("name", "")
        errors += _name_errors(name, names, here, several=len(ports) > 1)
        errors += port_errors(port.get("port", 0), f"{here}.port")
        if port.get("protocol") not in _PROTOCOLS:
            errors.append(not_supported(f"{here}.protocol", port.get("protocol", ""), _PROTOCOLS))
        target = port.get("targetPort")
        if target.__class__ is int:
            errors += port_errors(target, f"{here}.targetPort")
    return errors + _duplicate_errors(ports)


def _shown_key(protocol: Any, number: Any) -> str:
    """Write a port of which only protocol and number are set, as Go's own structure is printed."""
    return f'{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}'


def _duplicate_errors(ports: list[Document]) -> list[FieldError]:
    errors = []
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            errors.append(FieldError(ErrorType.DUPLICATE, f"spec.ports[{index}]", OMITTED, _shown_key(*key)))
        seen.add(key)
    return errors


def _name_errors(name: str, seen: set[str], here: str, *, several: bool) -> list[FieldError]:
    if not name:
        return [required(f"{here}.name")] if several else []
    errors = [invalid(f"{here}.name", name, fault) for fault in label_faults(name)]
    if name in seen:
        errors.append(duplicate(f"{here}.name", name))
    seen.add(name)
    return errors


_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def ingress_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about an Ingress."""
    del old
    if subresource == "status":
        return []
    errors: list[FieldError] = []
    spec = obj["spec"]
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        text = "either `defaultBackend` or `rules` must be specified"
        errors.append(invalid("spec", spec, text))
    for number, rule in enumerate(spec.get("rules") or ()):
        for index, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            here = f"spec.rules[{number}].http.paths[{index}].pathType"
            kind = path.get("pathType")
            if not kind:
                errors.append(required(here, "pathType must be specified"))
            elif kind not in _PATH_TYPES:
                errors.append(not_supported(here, kind, _PATH_TYPES))
    return errors


def binding_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a binding of roles."""
    del subresource
    reference = obj.get("roleRef") or {}
    errors = [] if reference.get("name") else [required("roleRef.name")]
    if old is not None and not json_equal(reference, old.get("roleRef")):
        shown = {
            "APIGroup": reference.get("apiGroup", ""),
            "Kind": reference.get("kind", ""),
            "Name": reference.get("name", ""),
        }
        errors.append(invalid("roleRef", shown, "cannot change roleRef"))
    return errors
