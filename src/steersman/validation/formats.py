"""The string formats that Kubernetes checks: `date-time`, `ipv4`, `byte`, `duration` and their kin.

A format that is not in the table is not checked. Formats of numbers (`int32`, `float`) are not here: they are part of
the type.
"""

import datetime as dt
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from steersman.validation.names import label_faults, subdomain_faults

#: Returns whether a text has the format.
Format = Callable[[str], bool]

_HEX = "[0-9A-Fa-f]"


def _matches(pattern: str) -> Format:
    """Compile one of the patterns below; they are linear, so Python's own engine is safe for them."""

    def check(text: str) -> bool:
        # Compiled when first needed, and then found in the module's own cache.
        return re.fullmatch(pattern, text) is not None

    return check


def _uuid(third: str, fourth: str = _HEX) -> Format:
    return _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}{_HEX}{{3}}-?{fourth}{_HEX}{{3}}-?{_HEX}{{12}}")


_FULL_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


def _is_date(text: str) -> bool:
    parts = _FULL_DATE.fullmatch(text)
    if parts is None:
        return False
    year, month, day = (int(part) for part in parts.groups())
    try:
        # Go has a year 0, which is a leap year; Python does not.
        dt.date(year or 4, month, day)
    except ValueError:
        return False
    return True


#: Days up to the 28th, which every month has, are distinguished from those that need a calendar.
_DATE_TIME = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8]|(3[01]|29))[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?"
    r"(?:[Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
).fullmatch


def _is_date_time(text: str) -> bool:
    match = _DATE_TIME(text)
    return match is not None and (match[1] is None or _is_date(text[:10]))


_GO_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def is_go_time(text: str) -> bool:
    """Return whether a text is an RFC 3339 time as Go's parser demands it: upper case, in range."""
    parts = _GO_TIME.fullmatch(text)
    return parts is not None and _is_date(parts[1]) and parts[2] <= "23" and parts[3] <= "59" and parts[4] <= "59"


_GO_DURATION = re.compile(r"[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDED_DURATION = re.compile(r"\d+\s*([A-Za-zµ]+)", re.ASCII)
#: Units by name; the last name of each may have a suffix (`hours`), the others may not.
_UNITS: Final = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)


def _is_unit(word: str) -> bool:
    word = word.lower()
    return any(word in names or word.startswith(names[-1]) for names in _UNITS)


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    return any(_is_unit(word) for word in _WORDED_DURATION.findall(text))


def _lenient_ip(text: str) -> bool:
    """Return whether a text is an address; leading zeros in IPv4 are fine, as they are to Kubernetes."""
    if ":" in text:
        head, colon, tail = text.rpartition(":")
        text = head + colon + _without_zeros(tail) if "." in tail else text
        return _is_address(text) and "%" not in text
    return _is_address(_without_zeros(text))


def _without_zeros(text: str) -> str:
    return ".".join(str(int(part)) if part.isdecimal() and part.isascii() else "?" for part in text.split("."))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    limit = 128 if ":" in address else 32
    plain = bits.isdecimal() and bits.isascii() and len(bits) < 4  # noqa: PLR2004 - three digits reach 128
    return bool(slash) and plain and int(bits) <= limit and _lenient_ip(address)


def _is_mac(text: str) -> bool:
    separator = next((char for char in ":-." if char in text), "")
    if not separator:
        return False
    parts = text.split(separator)
    width, sizes = (4, (3, 4, 10)) if separator == "." else (2, (6, 8, 20))
    return len(parts) in sizes and all(re.fullmatch(f"{_HEX}{{{width}}}", part) for part in parts)


_ISBN10 = re.compile(r"\d{9}[\dX]", re.ASCII)
_ISBN13 = re.compile(r"\d{13}", re.ASCII)


def _is_isbn10(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    if not _ISBN10.fullmatch(text):
        return False
    weights = range(10, 0, -1)
    return sum(w * (10 if digit == "X" else int(digit)) for w, digit in zip(weights, text, strict=True)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    return bool(_ISBN13.fullmatch(text)) and sum((3 if i % 2 else 1) * int(d) for i, d in enumerate(text)) % 10 == 0


_CARD = re.compile(
    r"4\d{12}(\d{3})?|5[1-5]\d{14}|(222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(011|5\d\d)\d{12}"
    r"|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}|6[27]\d{14}",
    re.ASCII,
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (2 * int(d) if i % 2 else int(d) for i, d in enumerate(reversed(digits)))
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


_BYTE_PART = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010FFFF-]+"
_ADDRESS = rf'({_ATOM}(\.{_ATOM})*|"([^"\\]|\\.)+")@({_ATOM}(\.{_ATOM})*|\[[^\[\]\\]*\])'
_DISPLAY = r"""("([^"\\]|\\.)*"|[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\x80-\U0010FFFF \t-]*)"""
_is_bare_address = _matches(rf"{_ADDRESS}")
_is_named_address = _matches(rf"{_DISPLAY}\s*<{_ADDRESS}>")


def _is_email(text: str) -> bool:
    text = text.strip()
    return _is_bare_address(text) or _is_named_address(text)


_HOST_LIMIT = 255
_HOST_LABEL_LIMIT = 63
_TOP_LEVEL_MINIMUM = 2


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] == "L"


def _is_host_char(char: str) -> bool:
    return "0" <= char <= "9" or unicodedata.category(char)[0] in "LS"


def _is_lone_host(label: str) -> bool:
    """Return whether a label may be a whole host name: a dash may stand in its second place only."""
    rest = label[2:] if label[1:2] == "-" else label[1:]
    return _is_host_char(label[0]) and all(map(_is_host_char, rest))


def _is_host_label(label: str) -> bool:
    inner = all(char == "-" or _is_host_char(char) for char in label)
    return bool(label) and inner and label[0] != "-" and label[-1] != "-"


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text.encode()) > _HOST_LIMIT or any(len(label.encode()) > _HOST_LABEL_LIMIT for label in labels):
        return False
    *others, top = labels
    if not others:
        return bool(top) and _is_lone_host(top)
    return len(top) >= _TOP_LEVEL_MINIMUM and all(map(_is_letter, top)) and all(map(_is_host_label, others))


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.ASCII | re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff-]*")
_PORT = re.compile(r"(.*\]|[^:]*)(:\d*)?", re.ASCII | re.DOTALL)
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)


def _is_authority(text: str) -> bool:
    user, at, host = text.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    return bool(_HOST.fullmatch(host)) and bool(_PORT.fullmatch(host)) and not _BAD_ESCAPE.search(host)


def _is_uri(text: str) -> bool:
    """Return whether a text is a URI that may stand in a request: with a scheme, or starting with a slash."""
    if not text or any(char < " " or char == "\x7f" for char in text):
        return False
    scheme = _SCHEME.fullmatch(text)
    rest = scheme[2] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None or text == "*"
    rest = rest.partition("?")[0]
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and not _BAD_ESCAPE.search(slash + path)
    return not _BAD_ESCAPE.search(rest)


def _anything(_text: str) -> bool:
    return True


#: Formats by name, without dashes: Kubernetes ignores them in names of formats.
_FORMATS: Final[dict[str, Format]] = {
    "bsonobjectid": _matches(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _lenient_ip(text),
    "ipv6": lambda text: ":" in text and _lenient_ip(text),
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _uuid(_HEX),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ABab]"),
    "uuid5": _uuid("5", "[89ABab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _matches(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matches(rf"rgb\(\s*{_BYTE_PART}\s*,\s*{_BYTE_PART}\s*,\s*{_BYTE_PART}\s*\)"),
    "byte": _matches("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": _anything,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not label_faults(text),
    "k8slongname": lambda text: not subdomain_faults(text),
}

_NUMBER_FORMATS: Final = frozenset({"int32", "int64", "uint32", "uint64", "float", "double"})


def string_format(name: str) -> Format | None:
    """Return the check of a format; ``None`` if Kubernetes does not define it."""
    return _FORMATS.get(name.replace("-", ""))


def is_known_format(name: str, type_name: str) -> bool:
    """Return whether a format is defined for a type; others are accepted with a warning."""
    if type_name in ("integer", "number"):
        return name in _NUMBER_FORMATS
    return string_format(name) is not None
