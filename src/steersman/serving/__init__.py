"""The HTTP/1.1 server: sockets on one side, an app (`protocol.http.App`) on the other.

Start with `server`. A `connection` feeds bytes to `incoming`, which parses requests, and runs an `exchange` for each;
`app` runs the app's work as tasks. `certificates` issues certificates, `tls` builds contexts, `upgraded` is a raw
connection after a protocol switch.
"""

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
