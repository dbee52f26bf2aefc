"""Sends requests to an API server: the client's end of the network.

`base` has the interface `Transport`; ``http/`` implements it over sockets, `in_memory` calls an app in this process,
`fenced` checks a write fence, `wrapper` passes everything on. `config` says how to reach a cluster, ``auth/`` who the
client is. `stream` and `watch_stream` read long responses, `services` calls other HTTP services of an operator.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.transport.config import ClusterConfig
    from steersman.transport.services import HttpService, HttpServices

__all__ = [
    "ClusterConfig",
    "HttpService",
    "HttpServices",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.transport.config": ("ClusterConfig",),
        "steersman.transport.services": ("HttpService", "HttpServices"),
    },
)
