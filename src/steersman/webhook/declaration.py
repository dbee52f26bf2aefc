"""`Webhook`: a declared function that validates or defaults the objects of a kind before they are written."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Literal, TypeAlias, TypeVar, get_args

from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource
from steersman.objects.resource import KubeObject, resource_of
from steersman.validation.names import label_faults
from steersman.webhook.admission import Admission
from steersman.webhook.reviews.admission_review import Operation

K = TypeVar("K", bound=KubeObject)

#: The author's function. A plain ``def`` runs on the event loop, so it must not block; use ``async def`` to wait.
AdmissionFunction: TypeAlias = Callable[[K, Admission[K]], Awaitable[None] | None]
#: What the API server does with a write when the function fails or does not answer.
FailurePolicy: TypeAlias = Literal["Fail", "Ignore"]

#: The API server accepts no longer timeout, in seconds.
_LONGEST: Final = 30


class WebhookRole(Enum):
    """Purpose of a webhook; the value is part of its path."""

    VALIDATE = "validate"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Which operations call a webhook, and what happens if it fails."""

    on: tuple[Operation, ...] = ("CREATE", "UPDATE")
    failure: FailurePolicy = "Fail"
    #: Seconds that the API server waits for the webhook.
    timeout: int = 10

    def __post_init__(self) -> None:
        known = get_args(Operation)
        if not self.on or any(operation not in known for operation in self.on):
            raise DeclarationError(f"on= takes some of {', '.join(known)}, got {list(self.on)}")
        if self.failure not in get_args(FailurePolicy):
            raise DeclarationError(f"failure= is 'Fail' or 'Ignore', got {self.failure!r}")
        if not 1 <= self.timeout <= _LONGEST:
            raise DeclarationError(f"timeout= must lie between 1 and {_LONGEST} seconds, got {self.timeout}")


class Webhook(Generic[K]):
    """A declared webhook. Calling it calls the author's function."""

    def __init__(
        self, role: WebhookRole, name: str, kind: type[K], function: AdmissionFunction[K], options: WebhookOptions
    ) -> None:
        if faults := label_faults(name):
            raise DeclarationError(f"a webhook cannot be named {name!r}: {faults[0]}; pass another name=")
        if role is WebhookRole.DEFAULT and "DELETE" in options.on:
            raise DeclarationError(f"{name}: a deleted object cannot be defaulted; on= takes CREATE and UPDATE")
        self.role = role
        self.name = name
        #: Functions have a name, so that a webhook can be decorated again for another purpose.
        self.__name__ = name.replace("-", "_")
        self.kind = kind
        self.resource: ApiResource = resource_of(kind)
        self.function = function
        self.options = options

    def __call__(self, obj: K, admission: Admission[K]) -> Awaitable[None] | None:
        """Call the author's function."""
        return self.function(obj, admission)

    def path(self, operator: str) -> str:
        """Return the URL path of the webhook."""
        return f"/{operator}/{self.role.value}/{self.name}"

    def __repr__(self) -> str:
        return f"<Webhook {self.role.value} {self.name} of {self.resource.gvk}>"


def name_of(function: Callable[..., object], given: str) -> str:
    """Return the name of a webhook: the given one, or that of its function."""
    return given or function.__name__.strip("_").replace("_", "-").lower()
