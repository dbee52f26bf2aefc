"""`Admission`: what a webhook function knows about a write besides the object."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from steersman.client.client import Client
from steersman.objects.resource import KubeObject
from steersman.webhook.reviews.admission_review import AdmissionRequest, Operation

K = TypeVar("K", bound=KubeObject)

#: Characters of a warning; the API server truncates longer ones.
_LONGEST_WARNING: Final = 256


@dataclass(frozen=True, slots=True)
class User:
    """The user who makes the request, as the API server authenticated them."""

    name: str
    groups: frozenset[str] = frozenset()
    uid: str = ""
    extra: Mapping[str, list[str]] = field(default_factory=dict)


class Admission(Generic[K]):
    """One write under review: the user, the operation and the old object."""

    def __init__(self, request: AdmissionRequest, old: K | None, client: Client) -> None:
        self._request = request
        self._warnings: list[str] = []
        #: The stored object; ``None`` for a create.
        self.old = old
        #: Client for reading other objects; it needs RBAC permissions (``operator.permit``).
        self.client = client
        info = request.user_info
        self.user = User(info.username, frozenset(info.groups), info.uid, info.extra)

    @property
    def operation(self) -> Operation:
        """Requested operation: ``CREATE``, ``UPDATE`` or ``DELETE``."""
        return self._request.operation

    @property
    def dry_run(self) -> bool:
        """Whether the write is a dry run: the webhook must have no side effects then."""
        return bool(self._request.dry_run)

    @property
    def uid(self) -> str:
        """Uid of this review, for log lines; a retried write has another one."""
        return self._request.uid

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings so far."""
        return tuple(self._warnings)

    def warn(self, text: str) -> None:
        """Add a warning for the user, which kubectl prints: one line of at most 256 characters."""
        line = " ".join(text.split())
        self._warnings.append(line if len(line) <= _LONGEST_WARNING else f"{line[: _LONGEST_WARNING - 1]}…")

    def _key(self) -> str:
        request = self._request
        return f"{request.namespace}/{request.name}" if request.namespace else request.name

    def __repr__(self) -> str:
        return f"<Admission {self.operation} {self._request.kind} {self._key()} by {self.user.name}>"
