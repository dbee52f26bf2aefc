"""Reads an embedded server between two steps of the event loop, for assertions that cannot await."""

from typing import TypeVar

from steersman.apiserver.server import ApiServer
from steersman.objects.codec import decode_list
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.http import Peer, Response, Stream, Upgraded
from steersman.protocol.options import ListOptions
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of

K = TypeVar("K", bound=KubeObject)


class _Answer:
    """An exchange that keeps the response."""

    def __init__(self) -> None:
        self.response: Response | None = None

    @property
    def peer(self) -> Peer:
        return Peer("in-memory")

    def respond(self, response: Response) -> None:
        self.response = response

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        raise TypeError(f"a list was answered by a stream ({status}, {headers})")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        raise TypeError(f"a list was answered by an upgrade ({headers})")

    def reset(self) -> None:
        self.response = None


def list_now(server: ApiServer, kind: type[K], *, namespace: str = "", selector: str = "") -> list[K]:
    """Return the current objects of a server."""
    answer = _Answer()
    request = Requests(resource_of(kind)).list(namespace, ListOptions(label_selector=selector))
    server.handle(request, answer)
    if answer.response is None:
        raise RuntimeError(f"the server did not answer {request.target} at once")
    return decode_list(kind, body_of(answer.response)).items
