"""Kubernetes REST without I/O: requests and responses as values.

Start with `requests` (verbs → `Request`) and `responses` (status codes → exceptions); `http` has the interface between
apps and servers. `list_watch` is the state machine that keeps a replica of a resource true; `watch_frames` parses a
watch, `watch_liveness` decides when one is dead. `patches` applies and computes JSON patches, `manifests` reads YAML
files, `confidential` keeps secrets out of messages. ``remote/`` has the protocols of exec and port-forward.
"""

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
