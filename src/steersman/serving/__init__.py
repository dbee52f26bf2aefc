"""The HTTP/1.1 server: sockets on one side, an app (`protocol.http.App`) on the other.

Start with `server`. A `connection` feeds bytes to `incoming`, which parses requests, and runs an `exchange` for each;
`app` runs the app's work as tasks. `certificates` issues certificates, `certificate_bundle` keeps a CA with its
certificate and `certificate_rotation` decides when they are replaced; `tls` builds contexts, `upgraded` is a raw
connection after a protocol switch.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.serving.certificate_bundle import CertificateBundle, advance_bundle
    from steersman.serving.certificate_rotation import Lifetimes
    from steersman.serving.server import Listen, Server

__all__ = [
    "CertificateBundle",
    "Lifetimes",
    "Listen",
    "Server",
    "advance_bundle",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.serving.certificate_bundle": ("CertificateBundle", "advance_bundle"),
        "steersman.serving.certificate_rotation": ("Lifetimes",),
        "steersman.serving.server": ("Listen", "Server"),
    },
)
