"""Leases: strategy."""

from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.strategy import BuiltinStrategy


class LeaseStrategy(BuiltinStrategy):
    """Leases: made by whoever writes them first, updated only from what was read."""

    create_on_update = True
    unconditional_update = False

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Leave out what only coordinated elections have, which are off."""
        super().prepare_create(obj, subresource)
        _uncoordinated(obj)

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Leave out what only coordinated elections have, which are off."""
        super().prepare_update(obj, old, subresource)
        _uncoordinated(obj)


def _uncoordinated(lease: Document) -> None:
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)
