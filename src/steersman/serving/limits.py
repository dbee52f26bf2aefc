"""How long and how much: every bound that the server keeps."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Seconds, bytes and connections."""

    #: Connections at a time, or as many as the process may open files. A watch is one: an operator has a few dozen.
    connections: int = 10_000

    #: Bytes of a request's head: request line and headers.
    head: int = 256 * 1024
    #: Bytes of a request's body: the API server's own limit.
    body: int = 3 * 1024 * 1024
    #: Seconds from a request's first byte to the end of its head, and from there to the end of its body.
    read_head: float = 30.0
    read_body: float = 60.0
    #: Seconds that a connection stays open without a request; longer than clients keep theirs.
    keep_alive: float = 180.0
    #: Seconds after which a client is disconnected that does not read its response.
    stalled: float = 60.0
    #: Seconds that answers under way get when the server closes.
    drain: float = 10.0
    #: Bytes that wait for a client before the app is told to hold back.
    write_buffer: int = 256 * 1024

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) <= 0:
                raise ValueError(f"limit {limit.name} must be positive, got {getattr(self, limit.name)}")
