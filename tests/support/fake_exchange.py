"""An exchange that stores an answer and checks that there is only one."""

from typing import Any

from steersman.protocol.http import Peer, Response


class FakeStream:
    """A watch without a reader."""

    is_open = True
    is_writable = True

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self._on_close: list[Any] = []

    def write(self, chunk: bytes) -> None:
        """Store the bytes."""
        self.chunks.append(chunk)

    def close(self) -> None:
        """End."""
        self.is_open = self.is_writable = False
        for callback in self._on_close:
            callback()

    abort = close

    def on_writable(self, callback: Any) -> None:
        """Never full."""

    def on_close(self, callback: Any) -> None:
        """Store the callback."""
        self._on_close.append(callback)


class FakeExchange:
    """One request and its answer."""

    peer = Peer("fuzz")

    def __init__(self) -> None:
        self.response: Response | None = None
        self.open_stream: FakeStream | None = None
        self.is_reset = False

    def respond(self, response: Response) -> None:
        """Store the answer."""
        assert self.response is None
        assert self.open_stream is None
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> FakeStream:
        """Store the start of a stream."""
        assert self.response is None
        del headers
        assert status == 200
        self.open_stream = FakeStream()
        return self.open_stream

    def upgrade(self, headers: list[tuple[str, str]]) -> Any:
        """Reject the call; no test uses it."""
        raise AssertionError(headers)

    def reset(self) -> None:
        """Record the reset."""
        self.is_reset = True
