"""What a person may do from the web view, where the operator allows it: in ``steer dev``, never in production."""

from typing import Final, Protocol

from msgspec import Struct
from msgspec.json import Decoder

from steersman.history.records import ObjectName


class ReconcileNow(Struct, frozen=True, tag="reconcile", tag_field="action"):
    """Reconcile an object without waiting for a change."""

    object: ObjectName


class Pause(Struct, frozen=True, tag="pause", tag_field="action"):
    """Stop reconciling an object, for a time or until it is resumed."""

    object: ObjectName
    seconds: float | None = None


class Resume(Struct, frozen=True, tag="resume", tag_field="action"):
    """Reconcile a paused object again."""

    object: ObjectName


class Apply(Struct, frozen=True, tag="apply", tag_field="action"):
    """Create or change the objects of a YAML text."""

    text: str


class Delete(Struct, frozen=True, tag="delete", tag_field="action"):
    """Delete an object."""

    object: ObjectName


class InjectFault(Struct, frozen=True, tag="fault", tag_field="action"):
    """Make something go wrong, by one of the names that `Actions.faults` returns."""

    fault: str


class MoveClock(Struct, frozen=True, tag="clock", tag_field="action"):
    """Move a fake clock forward."""

    seconds: float


Action = ReconcileNow | Pause | Resume | Apply | Delete | InjectFault | MoveClock

#: The word of every action, as it is sent and as `Actions.offered` names it.
ACTION_NAMES: Final = frozenset({"reconcile", "pause", "resume", "apply", "delete", "fault", "clock"})

#: Reads an action, or raises ``msgspec.DecodeError``.
decode_action = Decoder(Action).decode


class Fault(Struct, frozen=True):
    """A fault that can be injected."""

    name: str
    description: str


class Actions(Protocol):
    """Carries out what a person asks for. A `SteersmanError` is shown to the person as it is."""

    @property
    def offered(self) -> frozenset[str]:
        """The words of the actions that work here; a subset of `ACTION_NAMES`."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that can be injected."""

    async def perform(self, action: Action) -> str:
        """Carry out an action and return what was done, as one sentence."""

    async def check(self, text: str) -> tuple[str, ...]:
        """Return what the API server objects to in a YAML text, in its own words, without writing anything."""

    async def document(self, name: ObjectName) -> str | None:
        """Return an object as YAML for editing; ``None`` if it does not exist."""
