"""A registry in this process that serves one OCI layout, as a registry in the cloud does: content by a redirect."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from steersman.scaffold.image.layout import Layout


class _Handler(BaseHTTPRequestHandler):
    layout: Layout
    #: The answer to every manifest by its name.
    manifests: dict[str, tuple[str, bytes]]
    #: Contents that the registry answers with instead of its own.
    damaged: dict[str, bytes]

    def do_GET(self) -> None:
        """Answer a read."""
        kind, name = self.path.split("/")[-2:]
        if self.path.startswith("/elsewhere/"):
            self._write(200, self.damaged.get(name) or self.layout.blob(name))
        elif kind == "blobs":
            self._write(307, b"", location=f"/elsewhere/blobs/{name}")
        elif name in self.manifests:
            media_type, body = self.manifests[name]
            self._write(200, body, **{"content-type": media_type})
        else:
            self._write(404, b'{"errors": [{"message": "manifest unknown"}]}')

    def _write(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def layout_registry(
    layout: Layout, manifests: dict[str, tuple[str, bytes]], damaged: dict[str, bytes] | None = None
) -> Iterator[str]:
    """Serve an image on this machine; yield the address of the registry."""
    fields = {"layout": layout, "manifests": manifests, "damaged": damaged or {}}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), fields)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
