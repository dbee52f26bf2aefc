"""Kubernetes REST without I/O: requests and answers as values, watch frames, patches, the list/watch state machine."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.protocol.http import Exchange, Request, Response
    from steersman.protocol.manifests import load_objects
    from steersman.protocol.options import (
        ApplyOptions,
        DeleteOptions,
        GetOptions,
        ListOptions,
        Preconditions,
        WatchOptions,
        WriteOptions,
    )
    from steersman.protocol.watch_frames import Added, Applied, Deleted, Modified

__all__ = [
    "Added",
    "Applied",
    "ApplyOptions",
    "DeleteOptions",
    "Deleted",
    "Exchange",
    "GetOptions",
    "ListOptions",
    "Modified",
    "Preconditions",
    "Request",
    "Response",
    "WatchOptions",
    "WriteOptions",
    "load_objects",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.protocol.http": ("Exchange", "Request", "Response"),
        "steersman.protocol.manifests": ("load_objects",),
        "steersman.protocol.options": (
            "ApplyOptions",
            "DeleteOptions",
            "GetOptions",
            "ListOptions",
            "Preconditions",
            "WatchOptions",
            "WriteOptions",
        ),
        "steersman.protocol.watch_frames": ("Added", "Applied", "Deleted", "Modified"),
    },
)
