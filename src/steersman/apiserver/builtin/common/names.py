"""Validation of names, labels and addresses; each function returns the errors of one field."""

import ipaddress
import re
from collections.abc import Callable, Mapping

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required
from steersman.validation.names import label_faults, label_value_faults, qualified_name_faults, subdomain_faults

_PORT_NAME_LIMIT = 15
_KEY_LIMIT = 253
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_ENV_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_HEADER_RULE = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
ADDRESS_RULE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_RULE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_SEARCH = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_SEARCH_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SEARCH}')"
)
_IS_SEARCH = re.compile(_SEARCH).fullmatch
_IS_PORT_NAME = re.compile(r"[-a-z0-9]+").fullmatch
_IS_KEY = re.compile(r"[-._a-zA-Z0-9]+").fullmatch
_IS_ENV = re.compile(r"[ -<>-~]+").fullmatch
_IS_HEADER = re.compile(r"[-A-Za-z0-9]+").fullmatch
_IS_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*").fullmatch


def _checked(faults: Callable[[str], list[str]]) -> Callable[[str, str], Errors]:
    def errors(name: str, field: str) -> Errors:
        return [invalid(field, name, fault) for fault in faults(name)]

    return errors


#: Validate an RFC 1123 label, an RFC 1123 subdomain, a qualified name, and the value of a label.
label_errors = _checked(label_faults)
subdomain_errors = _checked(subdomain_faults)
qualified_errors = _checked(qualified_name_faults)
label_value_errors = _checked(label_value_faults)


def required_name(
    document: JsonObject, name: str, path: str, check: Callable[[str, str], Errors] | None = None
) -> Errors:
    """Validate a required field, with ``check`` where it is set."""
    value = document.get(name) or ""
    if not value:
        return [required(f"{path}.{name}" if path else name)]
    return check(value, f"{path}.{name}" if path else name) if check is not None else []


def labels_errors(labels: Mapping[str, str] | None, path: str) -> Errors:
    """Validate the keys and values of labels."""
    errors: Errors = []
    for key, value in (labels or {}).items():
        errors += qualified_errors(key, path)
        errors += label_value_errors(value, path)
    return errors


def annotations_errors(annotations: Mapping[str, str] | None, path: str) -> Errors:
    """Validate the keys of annotations, ignoring case."""
    return [invalid(path, key, fault) for key in annotations or {} for fault in qualified_name_faults(key.lower())]


def port_name_faults(name: str) -> list[str]:
    """Return what is wrong with the name of a port."""
    faults = []
    if len(name) > _PORT_NAME_LIMIT:
        faults.append(f"must be no more than {_PORT_NAME_LIMIT} characters")
    if not _IS_PORT_NAME(name):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        faults.append("must contain at least one letter (a-z)")
    if "--" in name:
        faults.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        faults.append("must not begin or end with a hyphen")
    return faults


def search_errors(text: str, field: str) -> Errors:
    """Validate a DNS search domain, which may contain underscores."""
    return [] if _IS_SEARCH(text) and len(text) <= _KEY_LIMIT else [invalid(field, text, _SEARCH_RULE)]


def config_key_faults(key: str) -> list[str]:
    """Return what is wrong with a key of a ConfigMap or Secret, which must be a file name."""
    faults = []
    if len(key.encode()) > _KEY_LIMIT:
        faults.append(f"must be no more than {_KEY_LIMIT} characters")
    if not _IS_KEY(key):
        faults.append(_KEY_RULE)
    elif key in (".", ".."):
        faults.append(f"must not be '{key}'")
    elif key.startswith(".."):
        faults.append("must not start with '..'")
    return faults


def env_name_errors(name: str, field: str) -> Errors:
    """Validate the name of an environment variable."""
    return [] if _IS_ENV(name) else [invalid(field, name, _ENV_RULE)]


def header_name_errors(name: str, field: str) -> Errors:
    """Validate the name of an HTTP header."""
    return [] if _IS_HEADER(name) else [invalid(field, name, _HEADER_RULE)]


def host_errors(host: str, field: str) -> Errors:
    """Validate a host name, which may begin with a wildcard."""
    if "*" not in host:
        return subdomain_errors(host, field)
    return [] if _IS_WILDCARD(host) and len(host) <= _KEY_LIMIT else [invalid(field, host, _WILDCARD_RULE)]


def parsed_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an IP address, or ``None`` for text that is not one."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def address_errors(text: str, field: str) -> Errors:
    """Validate an IP address."""
    return [] if parsed_address(text) is not None else [invalid(field, text, ADDRESS_RULE)]


_LOCAL_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))
#: Property of an address → the error for an endpoint with such an address.
_UNREACHABLE = (
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
)


def endpoint_address_errors(text: str, field: str) -> Errors:
    """Validate the address of an endpoint, which other hosts must be able to reach."""
    address = parsed_address(text)
    if address is None:
        return [invalid(field, text, "must be a valid IP address")]
    if address.is_unspecified:
        return [invalid(field, text, f"may not be unspecified ({text})")]
    found = {name: getattr(address, name) for name, _ in _UNREACHABLE}
    errors = [invalid(field, text, why) for name, why in _UNREACHABLE if found[name]]
    if any(address in block for block in _LOCAL_MULTICAST if block.version == address.version):
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(field, text, why))
    return errors


def cidr_errors(text: str, field: str) -> Errors:
    """Validate a range of addresses in CIDR notation."""
    try:
        if "/" not in text:
            return [invalid(field, text, CIDR_RULE)]
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return [invalid(field, text, CIDR_RULE)]
    return []


_PREFIXED_RULE = 'must be a domain-prefixed path (such as "acme.io/foo")'


def domain_prefixed_errors(text: str, field: str) -> Errors:
    """Validate a domain followed by a path, such as ``example.com/name``."""
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
