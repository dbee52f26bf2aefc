"""Leases: strategy."""

from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.strategy import BuiltinStrategy


class LeaseStrategy(BuiltinStrategy):
    """Leases, which an update creates, and which are updated only with a resource version."""

    create_on_update = True
    unconditional_update = False

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Drop the fields of coordinated leader election, a feature that is disabled."""
        super().prepare_create(obj, subresource)
        _drop_coordinated_election(obj)

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Drop the fields of coordinated leader election, a feature that is disabled."""
        super().prepare_update(obj, old, subresource)
        _drop_coordinated_election(obj)


def _drop_coordinated_election(lease: Document) -> None:
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)
