"""IP addresses and networks: ``ip``, ``cidr`` and what can be asked of them.

Reading follows Go's rules and words: no zones, no IPv4-mapped IPv6 addresses, no leading zeros.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar

from steersman.cel.checking.overloads import function, member
from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.cel.types import BOOL, CIDR, INT, IP, STRING
from steersman.cel.values.values import Opaque
from steersman.golang.text import quoted

_V4_BYTES = 4
_V6_BYTES = 16
_BYTE_LIMIT = 255
_GROUP_DIGITS = 4
_HEX = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Ip(Opaque):
    """An IP address."""

    raw: bytes

    type_name: ClassVar[str] = "net.IP"

    @property
    def address(self) -> IPv4Address | IPv6Address:
        """The address as a Python object."""
        return IPv4Address(self.raw) if len(self.raw) == _V4_BYTES else IPv6Address(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, slots=True)
class Cidr(Opaque):
    """A network: an address and its prefix length. The other bits are kept as written."""

    ip: Ip
    bits: int

    type_name: ClassVar[str] = "net.CIDR"

    def __len__(self) -> int:
        """Return the bytes that count, for the cost of comparing."""
        return (self.bits + 7) // 8

    def masked(self) -> "Cidr":
        """Return the network with the host bits cleared."""
        unused = len(self.ip.raw) * 8 - self.bits
        number = int.from_bytes(self.ip.raw) >> unused << unused
        return Cidr(Ip(number.to_bytes(len(self.ip.raw))), self.bits)

    def contains(self, other: Ip) -> bool:
        """Return whether an address lies in the network."""
        return len(other.raw) == len(self.ip.raw) and Cidr(other, self.bits).masked().ip == self.masked().ip


class _AddressError(Exception):
    """Text is not an address; the message is Go's."""

    def __init__(self, reason: str, at: str = "") -> None:
        super().__init__(f"{reason} (at {quoted(at)})" if at else reason)


def _more_digits(digits: str, char: str) -> str:
    if digits == "0":
        raise _AddressError("IPv4 field has octet with leading zero")
    digits += char
    if int(digits) > _BYTE_LIMIT:
        raise _AddressError("IPv4 field has value >255")
    return digits


def _parse_v4(text: str) -> bytes:
    fields: list[int] = []
    digits = ""
    for place, char in enumerate(text):
        if char in "0123456789":
            digits = _more_digits(digits, char)
        elif char != ".":
            raise _AddressError("unexpected character", text[place:])
        else:
            if not digits or place == len(text) - 1:
                raise _AddressError("IPv4 field must have at least one digit", text[place:])
            if len(fields) == _V4_BYTES - 1:
                raise _AddressError("IPv4 address too long")
            fields.append(int(digits))
            digits = ""
    if len(fields) < _V4_BYTES - 1:
        raise _AddressError("IPv4 address too short")
    return bytes([*fields, int(digits)])


class _V6Reader:
    """Reads the groups of an IPv6 address."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self.raw = b""
        self.gap = -1

    def read(self) -> bytes:
        """Read all of it."""
        if self.rest.startswith("::"):
            self.gap, self.rest = 0, self.rest[2:]
        more = bool(self.rest) or self.gap < 0
        while more and len(self.raw) < _V6_BYTES:
            more = self._group()
        if self.rest:
            raise _AddressError("trailing garbage after address", self.rest)
        return self._filled()

    def _filled(self) -> bytes:
        missing = _V6_BYTES - len(self.raw)
        if missing and self.gap < 0:
            raise _AddressError("address string too short")
        if not missing and self.gap >= 0:
            raise _AddressError("the :: must expand to at least one field of zeros")
        return self.raw[: max(self.gap, 0)] + bytes(missing) + self.raw[max(self.gap, 0) :]

    def _group(self) -> bool:
        """Read one group and its separator; return whether another group must follow."""
        length = 0
        while length < len(self.rest) and self.rest[length] in _HEX:
            if length >= _GROUP_DIGITS:
                raise _AddressError("each group must have 4 or less digits", self.rest)
            length += 1
        if not length:
            raise _AddressError("each colon-separated field must have at least one digit", self.rest)
        if self.rest[length : length + 1] == ".":
            self._embedded_v4()
            return False
        self.raw += int(self.rest[:length], 16).to_bytes(2)
        self.rest = self.rest[length:]
        return self._separator() if self.rest else False

    def _embedded_v4(self) -> None:
        if self.gap < 0 and len(self.raw) != _V6_BYTES - _V4_BYTES:
            raise _AddressError("embedded IPv4 address must replace the final 2 fields of the address", self.rest)
        if len(self.raw) + _V4_BYTES > _V6_BYTES:
            raise _AddressError("too many hex fields to fit an embedded IPv4 at the end of the address", self.rest)
        self.raw += _parse_v4(self.rest)
        self.rest = ""

    def _separator(self) -> bool:
        if self.rest[0] != ":":
            raise _AddressError("unexpected character, want colon", self.rest)
        if len(self.rest) == 1:
            raise _AddressError("colon must be followed by more characters", self.rest)
        self.rest = self.rest[1:]
        if self.rest[0] == ":":
            if self.gap >= 0:
                raise _AddressError("multiple :: in address", self.rest)
            self.gap, self.rest = len(self.raw), self.rest[1:]
        return bool(self.rest)


def _parse_address(text: str) -> tuple[bytes, str]:
    """Return the bytes of an address and its zone."""
    kind = next((char for char in text if char in ".:%"), "")
    if kind == ".":
        return _parse_v4(text), ""
    if kind == ":":
        address, percent, zone = text.partition("%")
        if percent and not zone:
            raise _AddressError("zone must be a non-empty string")
        return _V6Reader(address).read(), zone
    raise _AddressError("missing IPv6 address" if kind == "%" else "unable to parse IP")


def _is_mapped(raw: bytes) -> bool:
    return len(raw) == _V6_BYTES and raw[:12] == bytes(10) + b"\xff\xff"


def parse_ip(text: str) -> Ip:
    """Read an address as rules may have it."""
    try:
        raw, zone = _parse_address(text)
    except _AddressError as error:
        raise EvaluationError(
            f"IP Address {quoted(text)} parse error during conversion from string: ParseAddr({quoted(text)}): {error}"
        ) from None
    if zone:
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(raw):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Ip(raw)


def _parse_prefix(text: str) -> Cidr:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _AddressError("no '/'")
    try:
        raw, zone = _parse_address(address)
    except _AddressError as error:
        raise _AddressError(f"ParseAddr({quoted(address)}): {error}") from None
    if zone:
        raise _AddressError("IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0"):
        raise _AddressError(f"bad bits after slash: {quoted(bits)}")
    if int(bits) > len(raw) * 8:
        raise _AddressError("prefix length out of range")
    return Cidr(Ip(raw), int(bits))


_CIDR_ERROR = "network address parse error during conversion from string: "


def parse_cidr(text: str) -> Cidr:
    """Read a network as rules may have it."""
    try:
        cidr = _parse_prefix(text)
    except _AddressError as error:
        raise EvaluationError(f"{_CIDR_ERROR}{_CIDR_ERROR}netip.ParsePrefix({quoted(text)}): {error}") from None
    if _is_mapped(cidr.ip.raw):
        raise EvaluationError(f"{_CIDR_ERROR}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return cidr


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip_text(network: Cidr, text: str) -> bool:
    try:
        address = parse_ip(text)
    except EvaluationError:
        # Kubernetes hands the failed address on as if it were a value.
        raise NoSuchOverload from None
    return network.contains(address)


def _contains_cidr(network: Cidr, other: Cidr) -> bool:
    return network.bits <= other.bits and network.contains(other.ip)


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    unusable = (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or _is_link_local_unicast(ip)
        or ip.raw == b"\xff\xff\xff\xff"
    )
    return not unusable


def _is_link_local_unicast(ip: Ip) -> bool:
    if len(ip.raw) == _V4_BYTES:
        return ip.raw[:2] == b"\xa9\xfe"
    return ip.raw[0] == 0xFE and ip.raw[1] & 0xC0 == 0x80  # noqa: PLR2004 - fe80::/10


def _is_link_local_multicast(ip: Ip) -> bool:
    if len(ip.raw) == _V4_BYTES:
        return ip.raw[:3] == b"\xe0\x00\x00"
    return ip.raw[0] == 0xFF and ip.raw[1] & 0x0F == 0x02  # noqa: PLR2004 - ff02::/16 with any flags


def _text(ip: Ip) -> str:
    return str(ip.address)


def _cidr_text(network: Cidr) -> str:
    return f"{network.ip.address}/{network.bits}"


def _family(ip: Ip) -> int:
    return 4 if len(ip.raw) == _V4_BYTES else 6


def _ask(name: str) -> Any:
    return lambda ip: getattr(ip.address, name)


OVERLOADS = [
    function("ip", "string_to_ip", (STRING,), IP, parse_ip),
    member("ip", "cidr_ip", (CIDR,), IP, lambda network: network.ip),
    function("ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: _text(parse_ip(text)) == text),
    function("isIP", "is_ip", (STRING,), BOOL, _is_ip),
    function("string", "ip_to_string", (IP,), STRING, _text),
    member("family", "ip_family", (IP,), INT, _family),
    member("isUnspecified", "ip_is_unspecified", (IP,), BOOL, _ask("is_unspecified")),
    member("isLoopback", "ip_is_loopback", (IP,), BOOL, _ask("is_loopback")),
    member("isLinkLocalMulticast", "ip_is_link_local_multicast", (IP,), BOOL, _is_link_local_multicast),
    member("isLinkLocalUnicast", "ip_is_link_local_unicast", (IP,), BOOL, _is_link_local_unicast),
    member("isGlobalUnicast", "ip_is_global_unicast", (IP,), BOOL, _is_global_unicast),
    function("cidr", "string_to_cidr", (STRING,), CIDR, parse_cidr),
    function("isCIDR", "is_cidr", (STRING,), BOOL, _is_cidr),
    function("string", "cidr_to_string", (CIDR,), STRING, _cidr_text),
    member("containsIP", "cidr_contains_ip_string", (CIDR, STRING), BOOL, _contains_ip_text),
    member("containsIP", "cidr_contains_ip_ip", (CIDR, IP), BOOL, Cidr.contains),
    member(
        "containsCIDR",
        "cidr_contains_cidr_string",
        (CIDR, STRING),
        BOOL,
        lambda network, text: _contains_cidr(network, parse_cidr(text)),
    ),
    member("containsCIDR", "cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr),
    member("prefixLength", "cidr_prefix_length", (CIDR,), INT, lambda network: network.bits),
    member("masked", "cidr_masked", (CIDR,), CIDR, Cidr.masked),
]
