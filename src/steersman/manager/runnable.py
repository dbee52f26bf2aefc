"""Something that a manager runs beside its controllers."""

from typing import Protocol


class Runnable(Protocol):
    """Runs until it is cancelled; its failure ends the manager."""

    async def run(self) -> None:
        """Work until cancelled."""

    async def wait_ready(self) -> None:
        """Wait until it can be relied on."""
