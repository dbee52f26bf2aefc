"""How long and how much: every bound that the HTTP client keeps."""

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Seconds and bytes; the times are client-go's where it has them."""

    #: Seconds to reach the server (or its proxy).
    connect: float = 30.0
    #: Seconds for a TLS handshake.
    handshake: float = 10.0
    #: Seconds without a byte after which a request is given up.
    idle: float = 70.0
    #: Timeout of a liveness check in seconds.
    ping: float = 10.0
    #: Seconds that an unused connection is kept; less than servers keep theirs (90), so that this side closes first.
    keep_alive: float = 60.0
    #: Connections for whole requests at one time; more requests wait. Streams have their own and are not counted.
    connections: int = 100
    #: Bytes of an answer's head.
    head: int = 256 * 1024
    #: Bytes of a whole answer's body, after decompression.
    body: int = 1024 * 1024 * 1024
    #: Bytes of a stream that wait for their reader before the peer is made to wait.
    stream_buffer: int = 1024 * 1024

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ValueError(f"limit {name} must be positive, got {getattr(self, name)}")
