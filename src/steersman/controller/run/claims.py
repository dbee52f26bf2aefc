"""Whether an object may be applied: decides by the existing object of that name, and guards the write.

Applying writes our controller reference into an object, and the owner's deletion then deletes it. So an object is
applied only if it is this operator's own: it does not exist yet, the reconciled object controls it, or nothing controls
it and this operator's field manager has applied it before.

What the decision cannot know: a cache lags behind, drops ``managedFields`` and does not hold every kind; and an object
can be created, replaced or adopted between the read and the write. So each decision comes with preconditions that the
API server checks together with the write, and a cached object counts as our own only by its controller reference.
"""

from typing import Final

from msgspec import Struct

from steersman.controller.reports.outcome import is_field_conflict
from steersman.errors import AlreadyOwned, ApiError, Invalid, Retry
from steersman.informer.record import Record
from steersman.objects.meta import ManagedFieldsEntry, OwnerReference
from steersman.objects.resource import KubeObject, PartialObjectMetadata, resource_of
from steersman.protocol.options import Preconditions

#: No object has the highest possible version, and the server compares versions only if the object exists: an apply with
#: this precondition creates the object or raises ``Conflict``.
CREATE_ONLY: Final = Preconditions(resource_version=str(2**63 - 1))
#: Fields in the error of a rejected apply that mean that the object is not the one that was read.
_IDENTITY: Final = frozenset({"metadata.uid", "metadata.ownerReferences"})


class Claimant(Struct, frozen=True):
    """The owner and field manager that apply an object, and how."""

    #: The reconciled object.
    owner: KubeObject
    #: This operator's field manager.
    manager: str
    #: Whether the object gets the controller reference of the reconciled one.
    owned: bool
    #: Whether an object without a controller may be adopted.
    adopt: bool

    def claim_cached(self, intent: KubeObject, record: Record) -> Preconditions | None:
        """Return the preconditions for applying a cached object; ``None`` if the server must be asked who owns it."""
        controller = record.controller
        if controller is None or not self._is_ours(intent, controller.uid):
            return None
        return Preconditions(uid=record.uid)

    def claim_live(self, intent: KubeObject, live: PartialObjectMetadata | None) -> Preconditions:
        """Return the preconditions for applying a live object; raise ``AlreadyOwned`` if it is not ours."""
        if live is None:
            return CREATE_ONLY
        controller = live.controller
        if controller is not None:
            if not self._is_ours(intent, controller.uid):
                raise self._refusal(intent, controller)
            return Preconditions(uid=live.uid)
        entries = live.metadata.managed_fields
        if not self.adopt and not any(self._has_applied(entry) for entry in entries):
            raise _created_by_others(intent, list(dict.fromkeys(entry.manager or "unknown" for entry in entries)))
        # Another owner may adopt it at the same moment: it must be unchanged since the read.
        return Preconditions(uid=live.uid, resource_version=live.resource_version)

    def _has_applied(self, entry: ManagedFieldsEntry) -> bool:
        """Return whether an entry comes from an earlier apply by this operator.

        Entries of its statuses, finalizers and patches do not count: it writes those into foreign objects, too.
        """
        return entry.manager == self.manager and entry.operation == "Apply" and not entry.subresource

    def _is_ours(self, intent: KubeObject, controller: str) -> bool:
        """Return whether a controller is the reconciled object, or an owner that the author set in the intent."""
        if controller == self.owner.uid:
            return True
        return any(owner.controller and owner.uid == controller for owner in intent.metadata.owner_references)

    def _refusal(self, intent: KubeObject, controller: OwnerReference) -> Exception:
        if self._is_predecessor(controller):
            return Retry(
                f"{_named(intent)} belongs to an earlier {controller.kind} {controller.name}: it is deleted soon"
            )
        owner = f"{controller.kind} {controller.name}"
        message = f"{_named(intent)} exists and is controlled by {owner}: use another name"
        return _already_owned(intent, message, owner)

    def _is_predecessor(self, controller: OwnerReference) -> bool:
        """Return whether the controller is a deleted object of the same name, whose child is not collected yet."""
        gvk = resource_of(type(self.owner)).gvk
        group = controller.api_version.rpartition("/")[0]
        return (group, controller.kind, controller.name) == (gvk.group, gvk.kind, self.owner.name)


def is_outdated(error: ApiError, *, looked: bool) -> bool:
    """Return whether an apply was rejected because of its preconditions, so that reading the object again helps.

    Before the object was read (``looked``), a field conflict may hide that it belongs to another owner altogether.
    """
    if isinstance(error, Invalid):
        return any(cause.field in _IDENTITY for cause in error.causes)
    return not (looked and is_field_conflict(error))


def _created_by_others(intent: KubeObject, managers: list[str]) -> AlreadyOwned:
    owner = f"field managers: {', '.join(managers)}" if managers else "no field manager"
    message = (
        f"{_named(intent)} exists and was not made by this operator ({owner}): "
        "delete or rename it, or let the operator adopt it (adopt=True)"
    )
    return _already_owned(intent, message, owner)


def _already_owned(intent: KubeObject, message: str, owner: str) -> AlreadyOwned:
    return AlreadyOwned(message, kind=type(intent), name=intent.name, namespace=intent.namespace, owner=owner)


def _named(obj: KubeObject) -> str:
    return f"{resource_of(type(obj)).gvk.kind} {obj.key}"
