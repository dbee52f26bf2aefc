"""The names that Kubernetes allows, and its messages about others.

Each function returns the list of messages about a name; an empty list means that the name is valid.
"""

import re
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


def label_faults(name: str) -> list[str]:
    """Return errors unless a name is an RFC 1123 label: a namespace, a container."""
    faults: list[str] = []
    if len(name) <= LABEL_LIMIT and _IS_LABEL(name):  # what matches has as many bytes as characters
        return faults
    if _size(name) > LABEL_LIMIT:
        faults.append(f"must be no more than {LABEL_LIMIT} bytes")
    if not _IS_LABEL(name):
        faults.append(_LABEL_TEXT)
    return faults


def subdomain_faults(name: str) -> list[str]:
    """Return errors unless a name is an RFC 1123 subdomain: most object names, API groups."""
    faults: list[str] = []
    if len(name) <= SUBDOMAIN_LIMIT and _IS_SUBDOMAIN(name):  # as above
        return faults
    if _size(name) > SUBDOMAIN_LIMIT:
        faults.append(f"must be no more than {SUBDOMAIN_LIMIT} characters")
    if not _IS_SUBDOMAIN(name):
        faults.append(_SUBDOMAIN_TEXT)
    return faults


def dns1035_faults(name: str) -> list[str]:
    """Return errors unless a name is a DNS-1035 label: a plural, a version, a Service."""
    faults = []
    if _size(name) > LABEL_LIMIT:
        faults.append(f"must be no more than {LABEL_LIMIT} bytes")
    if not _IS_DNS1035(name):
        faults.append(_DNS1035_TEXT)
    return faults


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
    faults: list[str] = []
    if len(value) <= LABEL_LIMIT and _IS_VALUE(value):  # as above
        return faults
    if _size(value) > LABEL_LIMIT:
        faults.append(f"must be no more than {LABEL_LIMIT} bytes")
    if not _IS_VALUE(value):
        faults.append(_VALUE_TEXT)
    return faults
