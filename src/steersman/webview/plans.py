"""Plans in the web view: what the operator would do, made on request."""

from typing import Protocol

from msgspec import Struct
from msgspec.json import Decoder


class PlanRequest(Struct, frozen=True):
    """What a person wants to have planned."""

    #: Objects as YAML that count as applied; empty for the cluster as it is.
    text: str = ""
    #: Plan paused objects as if they were resumed.
    resume: bool = False


#: Reads a request for a plan, or raises ``msgspec.DecodeError``.
decode_plan_request = Decoder(PlanRequest).decode


class Plans(Protocol):
    """Makes plans. A `SteersmanError` is shown to the person as it is."""

    async def plan(self, wanted: PlanRequest) -> bytes:
        """Return a plan as a JSON document, as `steer plan -o json` prints it."""
