"""Kinds of the whole cluster: Nodes, PriorityClasses, RuntimeClasses, CertificateSigningRequests."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.names import label_errors, qualified_errors, required_name
from steersman.apiserver.builtin.common.quantities import amount_errors
from steersman.apiserver.builtin.pods.placement_validation import EFFECTS
from steersman.validation.field_errors import (
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from steersman.validation.names import label_value_faults

Document = dict[str, Any]
Errors = list[FieldError]
_IMMUTABLE = "field is immutable"
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST = 1_000_000_000
_PREEMPTION = ("PreemptLowerPriority", "Never")
_SHORTEST = 600
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def node_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a Node."""
    del subresource
    spec = obj.get("spec") or {}
    errors = _taint_errors(spec.get("taints") or (), "metadata.taints")
    for part in ("capacity", "allocatable"):
        for name, text in ((obj.get("status") or {}).get(part) or {}).items():
            errors += amount_errors(name, text, f"status.{part}[{name}]")
    if old is None:
        return errors
    before = old.get("spec") or {}
    for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and before[name] != spec.get(name):
            text = f'node updates may not change {shown} except from "" to valid'
            errors.append(forbidden(f"spec.{name}", text))
    return errors


def _taint_errors(taints: Sequence[Document], path: str) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here, key, effect = f"{path}[{index}]", taint.get("key") or "", taint.get("effect") or ""
        errors += qualified_errors(key, f"{here}.key")
        faults = label_value_faults(taint.get("value") or "")
        if faults:
            errors.append(invalid(f"{here}.value", taint["value"], ";".join(faults)))
        if not effect:
            errors.append(required(f"{here}.effect"))
        elif effect not in EFFECTS:
            errors.append(not_supported(f"{here}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(FieldError(ErrorType.DUPLICATE, here, internal_form("Taint", taint), text))
        seen.add((key, effect))
    return errors


def priority_class_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a PriorityClass."""
    del subresource
    value, policy = obj.get("value") or 0, obj.get("preemptionPolicy")
    if old is not None:
        errors: Errors = []
        if value != (old.get("value") or 0):
            errors.append(forbidden("value", "may not be changed in an update."))
        if policy != old.get("preemptionPolicy"):
            errors.append(invalid("preemptionPolicy", policy, _IMMUTABLE))
        return errors
    name = obj["metadata"].get("name") or ""
    errors = _system_errors(name, obj) if name.startswith("system-") else []
    if not name.startswith("system-") and value > _HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    if policy is not None and policy not in _PREEMPTION:
        errors.append(not_supported("preemptionPolicy", policy, _PREEMPTION))
    return errors


def _system_errors(name: str, obj: Document) -> Errors:
    if name not in _SYSTEM:
        why = f"{name} is not a known system priority class"
    elif obj.get("value") != _SYSTEM[name]:
        why = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    elif obj.get("globalDefault"):
        why = f"globalDefault of {name} PriorityClass must be false"
    else:
        return []
    text = "priority class names with 'system-' prefix are reserved for system use only. error: "
    return [forbidden("metadata.name", text + why)]


def runtime_class_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a RuntimeClass."""
    del subresource
    if old is not None:
        handler = obj.get("handler") or ""
        return [invalid("handler", handler, _IMMUTABLE)] if handler != (old.get("handler") or "") else []
    errors = required_name(obj, "handler", "", label_errors)
    for name, text in ((obj.get("overhead") or {}).get("podFixed") or {}).items():
        errors += amount_errors(name, text, f"overhead.limits[{name}]")
    return errors


def signing_request_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a CertificateSigningRequest."""
    if old is not None:
        return _condition_errors((obj.get("status") or {}).get("conditions") or (), old, subresource)
    spec = obj.get("spec") or {}
    errors: Errors = []
    request = spec.get("request") or ""
    if not _is_request(request):
        errors.append(invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST"))
    usages = spec.get("usages") or ()
    if not usages:
        errors.append(required("spec.usages"))
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            errors.append(not_supported(f"spec.usages[{index}]", usage, _USAGES))
        if usage in usages[:index]:
            errors.append(duplicate(f"spec.usages[{index}]", usage))
    errors += _signer_errors(spec.get("signerName") or "", "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        text = f"may not specify a duration less than {_SHORTEST} seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, text))
    return errors


def _is_request(encoded: str) -> bool:
    try:
        text = base64.b64decode(encoded, validate=True).decode("ascii", "replace")
    except (binascii.Error, ValueError):
        return False
    return re.match(r"\s*-----BEGIN CERTIFICATE REQUEST-----\s", text) is not None


def _signer_errors(name: str, field: str) -> Errors:
    if not name:
        return [required(field)]
    domain, _, path = name.partition("/")
    if not path or "." not in domain:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(field, name, text)]
    return []


def _condition_errors(conditions: Sequence[Document], old: Document, subresource: str) -> Errors:
    errors: Errors = []
    types = [condition.get("type") or "" for condition in conditions]
    path = "status.conditions"
    for index, name in enumerate(types):
        if not name:
            errors.append(required(f"{path}[{index}].type"))
        elif name in types[:index]:
            errors.append(duplicate(f"{path}[{index}].type", name))
    if "Approved" in types and "Denied" in types:
        errors.append(invalid(path, "Denied", "Approved and Denied conditions are mutually exclusive"))
    known = {condition.get("type") for condition in (old.get("status") or {}).get("conditions") or ()}
    errors += [
        forbidden(path, f'updates may not remove a condition of type "{name}"')
        for name in ("Approved", "Denied", "Failed")
        if name in known and name not in types
    ]
    if subresource != "approval":
        errors += [
            forbidden(path, f'updates may not add a condition of type "{name}"')
            for name in ("Approved", "Denied")
            if name in types and name not in known
        ]
    return errors
