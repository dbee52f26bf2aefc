"""Bytes on the wire, the server's end: an app answers requests, this package moves them over sockets."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.serving.server import Listen, Server

__all__ = [
    "Listen",
    "Server",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.serving.server": ("Listen", "Server"),
    },
)
