"""Where a list goes on: the opaque text that clients hand back to get the next page."""

import posixpath
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Final, Self

import msgspec

from steersman.errors import BadRequest

_META_VERSION: Final = "meta.k8s.io/v1"
#: Any negative version means "as it is then": the rest of a list whose first page is no longer consistent with it.
INCONSISTENT: Final = -1


class _Wire(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """The version of the list, and the first path that may come next, relative to what is listed."""

    version: int
    start: str

    @classmethod
    def after(cls, version: int, path: str) -> Self:
        """Return the token of the page that begins after a path."""
        return cls(version, f"{path}\0")

    def encode(self) -> str:
        """Write it as the API server does."""
        wire = _Wire(_META_VERSION, self.version, f"/{self.start}")
        return urlsafe_b64encode(msgspec.json.encode(wire)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Self:
        """Read one; raises BadRequest if it makes no sense."""
        wire = _wire_of(text)
        if wire.v != _META_VERSION:
            raise _invalid(f"server does not recognize this encoded version {wire.v}")
        if wire.rv == 0:
            raise _invalid(f"incorrect encoded start resourceVersion (version {_META_VERSION})")
        if not wire.start:
            raise _invalid("encoded start key empty")
        key = wire.start if wire.start.startswith("/") else f"/{wire.start}"
        if posixpath.normpath(key) != key:
            raise _invalid(wire.start)
        return cls(wire.rv, key[1:])


def _wire_of(text: str) -> _Wire:
    try:
        data = b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except Base64Error:
        raise _invalid("illegal base64 data") from None
    try:
        return msgspec.json.decode(data, type=_Wire)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _invalid(f"invalid character {chr(data[0]) if data else ''!r} looking for beginning of value") from None


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}", code=400, reason="BadRequest")
