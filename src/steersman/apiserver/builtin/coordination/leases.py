"""Leases: strategy."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject


class LeaseStrategy(BuiltinStrategy):
    """Leases, which an update creates, and which are updated only with a resource version."""

    create_on_update = True
    unconditional_update = False

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Drop the fields of coordinated leader election, a feature that is disabled."""
        super().prepare_create(obj, subresource, context)
        _drop_coordinated_election(obj)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Drop the fields of coordinated leader election, a feature that is disabled."""
        super().prepare_update(obj, old, subresource, context)
        _drop_coordinated_election(obj)


def _drop_coordinated_election(lease: JsonObject) -> None:
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)
