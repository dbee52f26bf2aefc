"""`Runnable`: a server that a manager runs next to its controllers."""

from typing import Protocol


class Runnable(Protocol):
    """Run until cancelled; a failure ends the manager."""

    async def run(self) -> None:
        """Run until cancelled."""

    async def wait_ready(self) -> None:
        """Wait until it is ready."""
