"""`ApiRequest`: one request to a resource, as the verbs get it; `ApiResponse`: the result of a verb."""

from functools import lru_cache

from msgspec import Struct

from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.messages.negotiation import PLAIN, Form
from steersman.apiserver.resources.request_context import RequestContext, User
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.json_types import JsonObject
from steersman.protocol.http import Request


class ApiRequest(Struct, frozen=True, gc=False):
    """One request to a resource: the HTTP request, what it addresses, and its context. Nothing changes it."""

    http: Request
    info: RequestInfo
    query: Query
    served: ServedResource
    context: RequestContext
    form: Form = PLAIN

    def __repr__(self) -> str:
        return f"ApiRequest(http={self.http!r}, info={self.info!r}, user={self.user!r})"

    @property
    def user(self) -> User:
        """The user who sends the request."""
        return self.context.user

    @property
    def manager(self) -> str:
        """The field manager of a write: as named, or the first word of the client's own name."""
        named = self.query.text("fieldManager")
        if named:
            return named
        agent = self.http.headers.get("user-agent", "")
        return _printable(agent.partition("/")[0]) or "unknown"


_MANAGER_LIMIT = 128


@lru_cache(maxsize=256)
def _printable(text: str) -> str:
    kept = "".join(char for char in text if char.isprintable())
    while len(kept.encode()) > _MANAGER_LIMIT:
        kept = kept[:-1]
    return kept


class ApiResponse(Struct, frozen=True, gc=False):
    """The result of a verb: a status code with an object, as bytes or as a document."""

    code: int
    #: The object as it is stored: complete JSON, in the requested version.
    raw: bytes = b""
    #: The same as a document, where the bytes do not exist yet.
    document: JsonObject | None = None
    #: Whether the object is of the served kind, so that it may be shown as a table.
    is_object: bool = True
    #: Sent as ``Warning`` headers.
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ApiResponse(code={self.code!r}, is_object={self.is_object!r})"
