"""The status as the author changes it: compared with what was read, written once, and only if it differs."""

from typing import Any

from msgspec import Struct

from steersman.client.client import Client
from steersman.client.interfaces import Written
from steersman.errors import AlreadyOwned
from steersman.objects.codec import bytes_read, decode_as, decode_json, encode_json
from steersman.objects.meta import Condition
from steersman.objects.resource import KubeObject, Status, resource_of
from steersman.protocol.patches import merge_patch_between

#: The condition that says whether an object is as it should be.
READY = "Ready"


#: Reasons of the Ready condition that only the framework gives.
RECONCILE_FAILED, CLEANUP_FAILED, RETRYING = "ReconcileFailed", "CleanupFailed", "ReconcileRetrying"
_REPORTS = frozenset({RECONCILE_FAILED, CLEANUP_FAILED, RETRYING, AlreadyOwned.REASON})
#: How the message of a Ready condition ends whose reason the author gave with ``Blocked``.
_WAITING_FOR = " (waiting for "


def waiting_message(message: str, awaited: object) -> str:
    """Return the message of an object that waits for another one; ``is_report`` recognises it after a restart."""
    return f"{message}{_WAITING_FOR}{awaited})"


def is_report(ready: Condition) -> bool:
    """Return whether the framework set a Ready condition for a failure, so that it goes with the failure."""
    return ready.reason in _REPORTS or (_WAITING_FOR in ready.message and ready.message.endswith(")"))


class _Stored(Struct):
    """An object of which only the status is read."""

    status: Any = None


class StatusDraft:
    """Remembers an object's status as it was read."""

    def __init__(self, obj: KubeObject) -> None:
        self._obj = obj
        self._before = self._encoded()
        self._generation = obj.generation
        self._ready_before = self._ready()

    def observe_generation(self) -> None:
        """Note in the status which generation it speaks of: the one that was read."""
        status = getattr(self._obj, "status", None)
        if isinstance(status, Status) and self._generation:
            status.observed_generation = self._generation

    def retire_failure(self, *, succeeded: bool) -> None:
        """Remove a Ready=False that no longer holds, if the run left it as it was.

        One about an earlier generation never holds; after a run that succeeded, neither does the report of a failure.
        """
        status = getattr(self._obj, "status", None)
        ready = self._ready()
        if not isinstance(status, Status) or ready is None or ready is not self._ready_before:
            return
        is_earlier = ready.observed_generation not in (None, self._generation)
        if ready.status == "False" and (is_earlier or (succeeded and is_report(ready))):
            status.conditions.remove(ready)

    def patch(self) -> dict[str, Any] | None:
        """Give the merge patch of what changed; ``None`` if nothing did."""
        after = self._encoded()
        if after == self._before:
            return None
        old, new = decode_json(self._before) or {}, decode_json(after) or {}
        # What the server does not have yet is told even where it is a default: a count of 0 is not the same as none.
        stored = self._stored()
        changes = merge_patch_between({name: value for name, value in old.items() if name in stored}, new)
        # The uid makes sure that an object of the same name which came later is not meant.
        return {"metadata": {"uid": self._obj.uid}, "status": changes}

    async def write(self, client: Client) -> Written | None:
        """Write what changed; give what the object is now, ``None`` if there was nothing to write."""
        patch = self.patch()
        if patch is None:
            return None
        writer = client.status if "status" in resource_of(type(self._obj)).subresources else client
        return await writer.patch_for_version(self._obj, patch)

    def _stored(self) -> dict[str, Any]:
        read = bytes_read(self._obj)
        status = None if read is None else decode_as(_Stored, read).status
        return status if isinstance(status, dict) else {}

    def _encoded(self) -> bytes:
        return encode_json(getattr(self._obj, "status", None))

    def _ready(self) -> Any:
        status = getattr(self._obj, "status", None)
        return status.condition(READY) if isinstance(status, Status) else None
