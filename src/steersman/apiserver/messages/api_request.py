"""`Call`: one request to a resource on its way through the server, and `Answer`, what came of it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec import Struct

from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.messages.negotiation import PLAIN, Form
from steersman.apiserver.resources.served import Served
from steersman.protocol.http import Request

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    """Who is asking."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Call(Struct):
    """One request to a resource: what is asked, by whom, of what."""

    request: Request
    info: RequestInfo
    query: Query
    served: Served
    user: User
    form: Form = PLAIN
    #: Whether the body has numbers that must be settled before they are stored.
    has_floats: bool = False
    #: Whether the object that was read has marks of what was given empty.
    has_empties: bool = False
    #: What the client will be told beside the answer.
    warnings: list[str] = []
    #: What somebody outside answered about this request so far; ``None`` for one that cannot wait for answers.
    answers: dict[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"Call(request={self.request!r}, info={self.info!r}, user={self.user!r})"

    @property
    def manager(self) -> str:
        """The field manager of a write: as named, or the first word of the client's own name."""
        named = self.query.text("fieldManager")
        if named:
            return named
        agent = self.request.headers.get("user-agent", "")
        return _printable(agent.partition("/")[0]) or "unknown"


_MANAGER_LIMIT = 128


@lru_cache(maxsize=256)
def _printable(text: str) -> str:
    kept = "".join(char for char in text if char.isprintable())
    while len(kept.encode()) > _MANAGER_LIMIT:
        kept = kept[:-1]
    return kept


class Answer(Struct):
    """What a verb gives: an object as bytes or as a document, and the status of the answer."""

    code: int
    #: The object as it is stored: complete JSON, in the version that was asked for.
    raw: bytes = b""
    #: The same as a document, where the bytes do not exist yet.
    document: Document | None = None
    #: Whether the object is of the served kind, so that it may be shown as a table.
    is_object: bool = True

    def __repr__(self) -> str:
        return f"Answer(code={self.code!r}, is_object={self.is_object!r})"
