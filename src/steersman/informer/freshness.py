"""How current a replica is: for health checks, metrics and for people who ask why a cache does not sync."""

from msgspec import Struct

from steersman.errors import Forbidden, NotFound, SteersmanError


class Freshness(Struct, frozen=True):
    """What is known of a replica at one moment."""

    #: Whether the first complete state has arrived, and the kind is still served.
    is_synced: bool
    #: Seconds since the server was last heard of: an event, a bookmark or a list. ``None`` before the first.
    age: float | None
    #: What went wrong last; ``None`` while all is well.
    error: SteersmanError | None

    @property
    def reason(self) -> str:
        """Why the replica is not current, in words; empty while all is well."""
        match self.error:
            case None:
                return "" if self.is_synced else "waiting for the first list"
            case NotFound():
                return str(self.error)
            case Forbidden():
                return f"not allowed to list and watch: {self.error}"
            case _:
                return f"{type(self.error).__name__}: {self.error}"
