"""Validation of Secrets: the rules of ConfigMaps, the keys that each type needs, and the type that cannot change."""

import base64

from steersman.apiserver.builtin.config.config_map_validation import (
    data_errors,
    immutable_data_errors,
    immutable_flag_errors,
)
from steersman.errors import DecodeError
from steersman.golang.strict_json import JSON_WORDS, decode_json
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required

_ACCOUNT = "kubernetes.io/service-account.name"
#: Type of a Secret → the keys that it must have.
_REQUIRED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
#: Type of a Secret → the key whose value is a JSON object.
_JSON_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_REDACTED = "<secret contents redacted>"


def secret_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Secret."""
    del subresource
    errors = data_errors(obj)
    if old is not None and old.get("immutable"):
        errors += immutable_flag_errors(obj) + immutable_data_errors(obj, old)
    if old is not None and obj.get("type") != old.get("type"):
        errors.append(invalid("type", obj.get("type", ""), "field is immutable"))
    return errors + _type_errors(obj)


def _type_errors(obj: JsonObject) -> Errors:
    """Validate what the type of a Secret requires."""
    kind, data = obj.get("type", ""), obj.get("data") or {}
    errors = [required(f"data[{key}]") for key in _REQUIRED_KEYS.get(kind, ()) if key not in data]
    key = _JSON_KEYS.get(kind)
    if key in data:
        errors += _json_errors(base64.b64decode(data[key]), f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        errors += [required(f"data[{key}]") for key in ("username", "password")]
    account = (obj["metadata"].get("annotations") or {}).get(_ACCOUNT)
    if kind == "kubernetes.io/service-account-token" and not account:
        errors.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    return errors


def _json_errors(content: bytes, field: str) -> Errors:
    try:
        value = decode_json(content).value
    except DecodeError as error:
        return [invalid(field, _REDACTED, str(error))]
    if value is None or value.__class__ is dict:
        return []
    word = JSON_WORDS[value.__class__]
    return [invalid(field, _REDACTED, f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")]


def secret_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return a warning for a TLS Secret whose certificate or key contains no PEM data."""
    del old
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN" not in base64.b64decode(data.get(key) or ""):
            return [f"tls: failed to find any PEM data in {what} input"]
    return []
