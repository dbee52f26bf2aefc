"""May an object be applied? Decides by what is known of the object that has its name, and guards the write.

Applying writes our controller reference into an object, and the owner's deletion then deletes it. So an object is
applied only if it is this operator's own: it does not exist yet, the reconciled object controls it, or nothing controls
it and this operator's field manager has applied it before.

What the decider cannot know: a cache lags behind, drops ``managedFields`` and does not hold every kind; and an object
can be created, replaced or taken between the look and the write. So each decision comes with preconditions that the API
server checks together with the write, and a cached object counts as our own only by its controller reference.
"""

from typing import Final

from msgspec import Struct

from steersman.errors import AlreadyOwned, ApiError, Invalid, Retry
from steersman.informer.record import Record
from steersman.objects.meta import ManagedFieldsEntry, OwnerReference
from steersman.objects.resource import KubeObject, PartialObjectMetadata, resource_of
from steersman.protocol.options import Preconditions

#: No object has the highest version there is, and a version is compared only with that of an existing object: an apply
#: with this precondition creates the object or is a ``Conflict``.
CREATE_ONLY: Final = Preconditions(resource_version=str(2**63 - 1))
#: Fields of a rejected apply that mean: the object is not the one that was looked at.
_IDENTITY: Final = frozenset({"metadata.uid", "metadata.ownerReferences"})


class Claimant(Struct, frozen=True):
    """Who applies an object, and how."""

    #: The reconciled object.
    owner: KubeObject
    #: This operator's field manager.
    manager: str
    #: Whether the object gets the controller reference of the reconciled one.
    owned: bool
    #: Whether an object that nobody controls may be taken over.
    adopt: bool

    def claim_cached(self, intent: KubeObject, record: Record) -> Preconditions | None:
        """Return the preconditions to apply a cached object; ``None`` if only the server knows whose it is."""
        controller = record.controller
        if controller is None or not self._is_ours(intent, controller.uid):
            return None
        return Preconditions(uid=record.uid)

    def claim_live(self, intent: KubeObject, live: PartialObjectMetadata | None) -> Preconditions:
        """Return the preconditions to apply an object that was just read; raise ``AlreadyOwned`` if it is not ours."""
        if live is None:
            return CREATE_ONLY
        controller = live.controller
        if controller is not None:
            if not self._is_ours(intent, controller.uid):
                raise self._refusal(intent, controller)
            return Preconditions(uid=live.uid)
        entries = live.metadata.managed_fields
        if not self.adopt and not any(self._has_applied(entry) for entry in entries):
            raise _made_by_others(intent, list(dict.fromkeys(entry.manager or "unknown" for entry in entries)))
        # Another owner may take it at the same moment: it must still be as it was read.
        return Preconditions(uid=live.uid, resource_version=live.resource_version)

    def _has_applied(self, entry: ManagedFieldsEntry) -> bool:
        """Return whether an entry is that of an earlier apply by this operator.

        Its statuses, finalizers and patches are no proof: it writes those into objects of others, too.
        """
        return entry.manager == self.manager and entry.operation == "Apply" and not entry.subresource

    def _is_ours(self, intent: KubeObject, controller: str) -> bool:
        """Return whether a controller is the reconciled object, or one that the author names in the intent."""
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
        """Return whether the controller had the name of the reconciled object, and its child is not collected yet."""
        gvk = resource_of(type(self.owner)).gvk
        group = controller.api_version.rpartition("/")[0]
        return (group, controller.kind, controller.name) == (gvk.group, gvk.kind, self.owner.name)


def is_outdated(error: ApiError, *, looked: bool) -> bool:
    """Return whether an apply was rejected because the object is not as its preconditions say, so that looking helps.

    Without a look, a conflict about fields may hide that the object belongs to another owner altogether.
    """
    if isinstance(error, Invalid):
        return any(cause.field in _IDENTITY for cause in error.causes)
    return not (looked and is_field_conflict(error))


def is_field_conflict(error: ApiError) -> bool:
    """Return whether another manager owns a field that was to be applied without force."""
    return any(cause.reason == "FieldManagerConflict" for cause in error.causes)


def _made_by_others(intent: KubeObject, managers: list[str]) -> AlreadyOwned:
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
