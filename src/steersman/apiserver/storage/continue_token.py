"""Where a list goes on: the opaque text that clients hand back to get the next page."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Final, Self

import msgspec

from steersman.errors import BadRequest

_META_VERSION: Final = "meta.k8s.io/v1"
#: Stands for "whatever the version is then": the rest of a list whose first page is no longer consistent with it.
INCONSISTENT: Final = -1


class _Wire(msgspec.Struct):
    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """The version of the list and the path after which it goes on, relative to what is listed."""

    version: int
    after: str

    def encode(self) -> str:
        """Write it as the API server does."""
        wire = _Wire(_META_VERSION, self.version, f"/{self.after}\0")
        return urlsafe_b64encode(msgspec.json.encode(wire)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Self:
        """Read one; raises BadRequest if it is none of ours."""
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            wire = msgspec.json.decode(data, type=_Wire)
        except (Base64Error, ValueError) as error:
            raise _invalid(str(error)) from None
        if wire.v != _META_VERSION or wire.rv == 0 or wire.rv < INCONSISTENT:
            raise _invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
        path = wire.start.removeprefix("/").removesuffix("\0")
        if not path or not wire.start.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
            raise _invalid(f"{wire.start!r} is no place in a list")
        return cls(wire.rv, path)


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"continue key is not valid: {why}", code=400, reason="BadRequest")
