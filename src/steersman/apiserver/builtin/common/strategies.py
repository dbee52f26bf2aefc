"""Strategies that differ from `BuiltinStrategy` in one trait only; kinds of several families use them."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy


class ReturnsDeletedObject(BuiltinStrategy):
    """Kinds whose deletion returns the object instead of a Status."""

    answers_delete_with_object = True


class StatusKeepsMetadata(BuiltinStrategy):
    """Kinds whose metadata cannot be changed through ``status``."""

    kept_in_status = ("annotations", "finalizers", "labels", "ownerReferences")


class CreatesOnUpdate(BuiltinStrategy):
    """Kinds whose objects are created by an update when they do not exist."""

    create_on_update = True
