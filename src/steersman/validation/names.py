"""The names that Kubernetes allows, and its messages about others.

Each function returns the list of messages about a name; an empty list means that the name is valid.
"""

import re
from collections.abc import Callable
from functools import lru_cache

SUBDOMAIN_LIMIT = 253
LABEL_LIMIT = 63

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_DNS1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"

_IS_LABEL = re.compile(_LABEL).fullmatch
_IS_SUBDOMAIN = re.compile(_SUBDOMAIN).fullmatch
_IS_DNS1035 = re.compile(_DNS1035).fullmatch
_IS_QUALIFIED = re.compile(_QUALIFIED).fullmatch
_IS_VALUE = re.compile(_VALUE).fullmatch


def _regex_text(rule: str, pattern: str, *examples: str) -> str:
    shown = "',  or '".join(examples)
    return f"{rule} (e.g. '{shown}', regex used for validation is '{pattern}')"


_LABEL_TEXT = _regex_text(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TEXT = _regex_text(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_DNS1035_TEXT = _regex_text(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_QUALIFIED_TEXT = _regex_text(_QUALIFIED_RULE, _QUALIFIED, "MyName", "my.name", "123-abc")
_VALUE_TEXT = _regex_text(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _faults(text: str, is_valid: Callable[[str], object], rule: str, limit: int, unit: str = "bytes") -> list[str]:
    """Return errors about a text that breaks a rule or is too long; what is valid has as many bytes as characters."""
    faults: list[str] = []
    matches = is_valid(text)
    if matches and len(text) <= limit:
        return faults
    if _size(text) > limit:
        faults.append(f"must be no more than {limit} {unit}")
    if not matches:
        faults.append(rule)
    return faults


def label_faults(name: str) -> list[str]:
    """Return errors unless a name is an RFC 1123 label: a namespace, a container."""
    return _faults(name, _IS_LABEL, _LABEL_TEXT, LABEL_LIMIT)


def subdomain_faults(name: str) -> list[str]:
    """Return errors unless a name is an RFC 1123 subdomain: most object names, API groups."""
    return _faults(name, _IS_SUBDOMAIN, _SUBDOMAIN_TEXT, SUBDOMAIN_LIMIT, "characters")


def dns1035_faults(name: str) -> list[str]:
    """Return errors unless a name is a DNS-1035 label: a plural, a version, a Service."""
    return _faults(name, _IS_DNS1035, _DNS1035_TEXT, LABEL_LIMIT)


def kind_faults(name: str) -> list[str]:
    """Return errors unless a kind is a DNS-1035 label, ignoring its case."""
    faults = dns1035_faults(name.lower())
    return [f"may have mixed case, but should otherwise match: {','.join(faults)}"] if faults else []


def path_segment_faults(name: str, *, prefix: bool = False) -> list[str]:
    """Return errors if a name cannot be part of a URL; a prefix may be what a whole name may not."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in ("/", "%") if char in name]


def _prefix_faults(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    faults = []
    if _size(prefix) > SUBDOMAIN_LIMIT:
        faults.append(f"prefix part must be no more than {SUBDOMAIN_LIMIT} bytes")
    if not _IS_SUBDOMAIN(prefix):
        faults.append(f"prefix part {_SUBDOMAIN_TEXT}")
    return faults


#: No good key is longer than a subdomain, a slash and a label.
_KEY_LIMIT = SUBDOMAIN_LIMIT + 1 + LABEL_LIMIT


def qualified_name_faults(key: str) -> list[str]:
    """Return errors about a key of labels or annotations, or a finalizer: ``name`` or ``domain/name``."""
    if len(key) <= _KEY_LIMIT and _is_known_key(key):
        return []
    return _qualified_name_faults(key)


@lru_cache(maxsize=4096)
def _is_known_key(key: str) -> bool:
    """Return whether a key is good; the same few keys stand on all objects of a cluster."""
    return not _qualified_name_faults(key)


def _qualified_name_faults(key: str) -> list[str]:
    prefix, slash, name = key.partition("/")
    if "/" in name:
        rule = f"a valid label key {_QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/'"
        return [f"{rule} (e.g. 'example.com/MyName')"]
    if not slash:
        prefix, name = "", key
    faults = _prefix_faults(prefix) if slash else []
    if not name:
        faults.append("name part must be non-empty")
    elif _size(name) > LABEL_LIMIT:
        faults.append(f"name part must be no more than {LABEL_LIMIT} bytes")
    if not _IS_QUALIFIED(name):
        faults.append(f"name part {_QUALIFIED_TEXT}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """Return errors about the value of a label."""
    return _faults(value, _IS_VALUE, _VALUE_TEXT, LABEL_LIMIT)
