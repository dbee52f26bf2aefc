"""URLs: ``url``, ``isURL`` and the parts of one, read by Go's rules."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import unquote_to_bytes

from steersman.cel.checking.overloads import function, member
from steersman.cel.errors import EvaluationError
from steersman.cel.types import BOOL, STRING, URL, list_of, map_of
from steersman.cel.values.values import CelMap, Opaque
from steersman.golang.text import quoted

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_UNRESERVED = _LETTERS | _DIGITS | frozenset("-_.~")
_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_ENCODED_PATH = _PATH | frozenset("!'()*[]%")
_USER = _UNRESERVED | frozenset(":!$&'()*+,;=%@")
_CONTROL = frozenset(map(chr, [*range(0x20), 0x7F]))
_ASCII_HEX_DIGIT = 8


class UrlError(Exception):
    """Text is not a URL; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Url(Opaque):
    """A URL in its parts; the path is kept as written if that was a valid form."""

    scheme: str = ""
    opaque: str = ""
    user: str = ""
    host: str = ""
    escaped_path: str = ""
    query: str = ""
    fragment: str = ""

    type_name: ClassVar[str] = "kubernetes.URL"

    @property
    def port(self) -> str:
        """The digits behind the last colon of the host."""
        tail = self.host.rpartition("]")[2]
        return tail.rpartition(":")[2] if ":" in tail else ""

    @property
    def hostname(self) -> str:
        """The host without port and without brackets."""
        name = self.host
        tail = name.rpartition("]")[2]
        if ":" in tail:
            name = name[: name.rindex(":")]
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def parse_request_uri(text: str) -> Url:
    """Read an absolute URL or path as it stands in a request; a fragment is taken for part of it."""
    return _parse(text, via_request=True)


def parse_url(text: str) -> Url:
    """Read a URL, which must also be proper in a request; raises ``UrlError``."""
    parse_request_uri(text)
    whole, _, fragment = text.partition("#")
    parsed = _parse(whole, via_request=False)
    _unescape(fragment, text)
    return Url(parsed.scheme, parsed.opaque, parsed.user, parsed.host, parsed.escaped_path, parsed.query, fragment)


def _fail(text: str, reason: str) -> UrlError:
    return UrlError(f"parse {quoted(text)}: {reason}")


def _parse(text: str, *, via_request: bool) -> Url:
    if not _CONTROL.isdisjoint(text):
        raise _fail(text, "net/url: invalid control character in URL")
    if not text and via_request:
        raise _fail(text, "empty url")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme.lower(), opaque=rest, query=query)
        if via_request:
            raise _fail(text, "invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _fail(text, "first path segment in URL cannot contain colon")
    user = host = ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority, text)
    return Url(scheme.lower(), "", user, host, _path(rest, text), query)


def _scheme(text: str) -> tuple[str, str]:
    for place, char in enumerate(text):
        if char in _LETTERS:
            continue
        if char == ":":
            if place == 0:
                raise _fail(text, "missing protocol scheme")
            return text[:place], text[place + 1 :]
        if place == 0 or not (char in _DIGITS or char in "+-."):
            break
    return "", text


def _authority(authority: str, text: str) -> tuple[str, str]:
    user, at, host = authority.rpartition("@")
    _check_host(host, text)
    if at and not _USER.issuperset(user):
        raise _fail(text, "net/url: invalid userinfo")
    if at:
        _unescape(user, text)
    return user, _unescape(host, text)


def _check_host(host: str, text: str) -> None:
    if host.startswith("["):
        if "]" not in host:
            raise _fail(text, "missing ']' in host")
        port = host.rpartition("]")[2]
    else:
        port = host[host.index(":") :] if ":" in host else ""
    if port and (port[0] != ":" or not _DIGITS.issuperset(port[1:])):
        raise _fail(text, f"invalid port {quoted(port)} after host")
    for place, char in enumerate(host):
        if char == "%":
            _check_host_escape(host[place : place + 3], text)
        elif char.isascii() and char not in _HOST:
            raise _fail(text, f"invalid character {quoted(char)} in host name")


_ESCAPE_LENGTH = 3


def _is_escape(part: str) -> bool:
    return len(part) == _ESCAPE_LENGTH and _HEX.issuperset(part[1:])


def _check_host_escape(part: str, text: str) -> None:
    # In a host only non-ASCII characters may be escaped, and the sign that begins a zone.
    if not _is_escape(part) or (int(part[1], 16) < _ASCII_HEX_DIGIT and part != "%25"):
        raise _fail(text, f"invalid URL escape {quoted(part)}")


def _unescape(part: str, text: str) -> str:
    place = part.find("%")
    while place >= 0:
        if not _is_escape(part[place : place + _ESCAPE_LENGTH]):
            raise _fail(text, f"invalid URL escape {quoted(part[place : place + _ESCAPE_LENGTH])}")
        place = part.find("%", place + 1)
    return unquote_to_bytes(part).decode(errors="replace")


def _path(path: str, text: str) -> str:
    plain = _unescape(path, text)
    if _ENCODED_PATH.issuperset(path):
        return path
    return "".join(char if char in _PATH else "".join(f"%{byte:02X}" for byte in char.encode()) for char in plain)


def _query(url: Url) -> CelMap:
    found: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            found.setdefault(_unescape(key.replace("+", " "), ""), []).append(_unescape(value.replace("+", " "), ""))
        except UrlError:
            continue
    return CelMap(found.items())


def _to_url(text: str) -> Url:
    try:
        return parse_url(text)
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


OVERLOADS = [
    function("url", "string_to_url", (STRING,), URL, _to_url),
    function("isURL", "is_url_string", (STRING,), BOOL, _is_url),
    member("getScheme", "url_get_scheme", (URL,), STRING, lambda url: url.scheme),
    member("getHost", "url_get_host", (URL,), STRING, lambda url: url.host),
    member("getHostname", "url_get_hostname", (URL,), STRING, lambda url: url.hostname),
    member("getPort", "url_get_port", (URL,), STRING, lambda url: url.port),
    member("getEscapedPath", "url_get_escaped_path", (URL,), STRING, lambda url: url.escaped_path),
    member("getQuery", "url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query),
]
