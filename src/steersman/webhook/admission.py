"""`Admission`: the circumstances of a write that a function is asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from steersman.client.client import Client
from steersman.objects.resource import KubeObject
from steersman.webhook.reviews.admission_review import AdmissionRequest, Operation

K = TypeVar("K", bound=KubeObject)

#: Letters of a warning that the API server passes on for certain; it cuts longer ones.
_LONGEST_WARNING: Final = 256


@dataclass(frozen=True, slots=True)
class User:
    """Who asks for a write, as the API server knows them."""

    name: str
    groups: frozenset[str] = frozenset()
    uid: str = ""
    extra: Mapping[str, list[str]] = field(default_factory=dict)


class Admission(Generic[K]):
    """One write that somebody asks for: who, what, and the object as it was."""

    def __init__(self, request: AdmissionRequest, old: K | None, client: Client) -> None:
        self._request = request
        self._warnings: list[str] = []
        #: The object as it is stored; ``None`` when it is new.
        self.old = old
        #: For looking at other objects; what it may read must be permitted (``operator.permit``).
        self.client = client
        told = request.user_info
        self.user = User(told.username, frozenset(told.groups), told.uid, told.extra)

    @property
    def operation(self) -> Operation:
        """What is asked for: ``CREATE``, ``UPDATE`` or ``DELETE``."""
        return self._request.operation

    @property
    def dry_run(self) -> bool:
        """Whether nothing will be stored: change nothing outside either."""
        return bool(self._request.dry_run)

    @property
    def uid(self) -> str:
        """The uid of this request, for log lines; a write that is asked about again has another."""
        return self._request.uid

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was said so far."""
        return tuple(self._warnings)

    def warn(self, text: str) -> None:
        """Tell whoever writes something; kubectl prints it. One line, at most 256 letters."""
        line = " ".join(text.split())
        self._warnings.append(line if len(line) <= _LONGEST_WARNING else f"{line[: _LONGEST_WARNING - 1]}…")

    def _key(self) -> str:
        request = self._request
        return f"{request.namespace}/{request.name}" if request.namespace else request.name

    def __repr__(self) -> str:
        return f"<Admission {self.operation} {self._request.kind} {self._key()} by {self.user.name}>"
