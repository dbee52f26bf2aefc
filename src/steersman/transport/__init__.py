"""Bytes on the wire, the client's end: from a request as a value to an answer as a value."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.transport.services import HttpService, HttpServices

__all__ = [
    "HttpService",
    "HttpServices",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.transport.services": ("HttpService", "HttpServices"),
    },
)
