"""What an author declares: a function that judges or completes the objects of a kind before they are written."""

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

#: The author's function. A plain ``def`` is called as it is, so it must not wait; what waits is an ``async def``.
AdmissionFunction: TypeAlias = Callable[[K, Admission[K]], Awaitable[None] | None]
#: What happens to a write when the function cannot be asked, or fails.
FailurePolicy: TypeAlias = Literal["Fail", "Ignore"]

#: Seconds that the API server waits at most, whatever it is told.
_LONGEST: Final = 30


class Role(Enum):
    """What a function is for; the value stands in its path."""

    VALIDATE = "validate"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """When a function is asked, and what happens if it cannot be."""

    on: tuple[Operation, ...] = ("CREATE", "UPDATE")
    failure: FailurePolicy = "Fail"
    #: Seconds that a write waits for the function.
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
    """A declared function. It can be called as the function that it was made from."""

    def __init__(
        self, role: Role, name: str, kind: type[K], function: AdmissionFunction[K], options: WebhookOptions
    ) -> None:
        if faults := label_faults(name):
            raise DeclarationError(f"a webhook cannot be named {name!r}: {faults[0]}; name= it otherwise")
        if role is Role.DEFAULT and "DELETE" in options.on:
            raise DeclarationError(f"{name}: what is deleted cannot be completed; on= takes CREATE and UPDATE")
        self.role = role
        self.name = name
        #: As functions have one: a declared function can be declared once more, for another purpose.
        self.__name__ = name.replace("-", "_")
        self.kind = kind
        self.resource: ApiResource = resource_of(kind)
        self.function = function
        self.options = options

    def __call__(self, obj: K, admission: Admission[K]) -> Awaitable[None] | None:
        """Call the author's function itself."""
        return self.function(obj, admission)

    def path(self, operator: str) -> str:
        """Give where the function is asked."""
        return f"/{operator}/{self.role.value}/{self.name}"

    def __repr__(self) -> str:
        return f"<Webhook {self.role.value} {self.name} of {self.resource.gvk}>"


def name_of(function: Callable[..., object], given: str) -> str:
    """Name a webhook: by its function, unless it was given a name."""
    return given or function.__name__.strip("_").replace("_", "-").lower()
