"""`always`: what must hold after every single write, whatever happens."""

from collections.abc import Callable

from msgspec import Struct

from steersman.testing.cluster import Cluster

#: Looks at the cluster; raises ``AssertionError`` or returns ``False`` where something is wrong.
Check = Callable[[Cluster], object]


class Invariant(Struct, frozen=True):
    """A statement about the cluster that every committed state must satisfy."""

    name: str
    check: Check

    def problem(self, cluster: Cluster) -> str:
        """Return what is wrong now; empty if nothing is."""
        try:
            held = self.check(cluster)
        except AssertionError as error:
            return str(error) or "an assertion failed"
        return "it returned False" if held is False else ""


def always(check: Check) -> Invariant:
    """Decorate a function that looks at the cluster after every write: ``simulate(…, invariants=[check])``."""
    return Invariant(getattr(check, "__name__", "invariant"), check)
