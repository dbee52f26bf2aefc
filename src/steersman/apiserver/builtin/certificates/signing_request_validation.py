"""Validation of CertificateSigningRequests."""

import base64
import binascii
import re
from collections.abc import Sequence

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, forbidden, invalid, not_supported, required

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


def signing_request_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a CertificateSigningRequest."""
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


def _condition_errors(conditions: Sequence[JsonObject], old: JsonObject, subresource: str) -> Errors:
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
