"""Strategies that differ from `BuiltinStrategy` in one trait only; kinds of several families use them."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy


class ReturnsDeletedObject(BuiltinStrategy):
    """Kinds that answer a delete with the object."""

    answers_delete_with_object = True


class StatusKeepsMetadata(BuiltinStrategy):
    """Kinds of which a write to the status changes no metadata."""

    kept_in_status = ("annotations", "finalizers", "labels", "ownerReferences")


class CreatesOnUpdate(BuiltinStrategy):
    """Kinds that an update of a missing object creates."""

    create_on_update = True
