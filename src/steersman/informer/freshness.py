"""`Freshness`: how current a cache is, for health checks and metrics, and why it does not sync."""

from msgspec import Struct

from steersman.errors import Forbidden, NotFound, SteersmanError


class Freshness(Struct, frozen=True):
    """The state of a cache at one moment."""

    #: Whether the first complete state has arrived, and the kind is still served.
    is_synced: bool
    #: Seconds since the server last sent an event, a bookmark or a list. ``None`` before the first.
    age: float | None
    #: The last error; ``None`` after a success.
    error: SteersmanError | None

    @property
    def reason(self) -> str:
        """Why the cache is not current; empty if it is."""
        match self.error:
            case None:
                return "" if self.is_synced else "waiting for the first list"
            case NotFound():
                return str(self.error)
            case Forbidden():
                return f"not allowed to list and watch: {self.error}"
            case _:
                return f"{type(self.error).__name__}: {self.error}"
