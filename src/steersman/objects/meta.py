"""Metadata: what every object and every list carries beside its content."""

from datetime import datetime
from typing import Any, Literal

from steersman.objects.model import Model, field, sparse


class OwnerReference(Model):
    """Whose garbage this object is."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """Which fields one manager has set."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: datetime | None = None
    fields_type: str | None = None
    fields_v1: Any = None
    subresource: str | None = None


class ObjectMeta(Model, kw_only=False):
    """Metadata of an object; ``meta("name", namespace=…, labels=…)`` is this class under its short name."""

    name: str | None = None
    namespace: str | None = None
    generate_name: str | None = None
    labels: dict[str, str] = sparse(dict)
    annotations: dict[str, str] = sparse(dict)
    finalizers: list[str] = sparse(list)
    owner_references: list[OwnerReference] = sparse(list)
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    self_link: str | None = None
    managed_fields: list[ManagedFieldsEntry] = sparse(list)

    def __repr__(self) -> str:
        # Annotations stay out: kubectl keeps a copy of the whole object there, also of a Secret.
        parts = ((name, getattr(self, name)) for name in self.__struct_fields__ if name not in _UNSEEN)
        return f"ObjectMeta({', '.join(f'{name}={value!r}' for name, value in parts if value)})"


_UNSEEN = ("annotations", "managed_fields")
meta = ObjectMeta


class ListMeta(Model):
    """Metadata of a list: its version, and where the next page begins."""

    resource_version: str | None = None
    continue_: str | None = field(default=None)
    remaining_item_count: int | None = None
    self_link: str | None = None


class Condition(Model):
    """One aspect of an object's state, as ``metav1.Condition``."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str = ""
    last_transition_time: datetime
    observed_generation: int | None = None
