"""`StatusDraft`: the status as the author changes it, compared with what was read, and written once if it differs."""

from typing import Any

from msgspec import Struct

from steersman.client.interfaces import Writer, Written
from steersman.controller.run.pause import CONDITION as PAUSE_CONDITION
from steersman.controller.run.pause import REASON as PAUSE_REASON
from steersman.errors import AlreadyOwned
from steersman.json_types import JsonObject
from steersman.objects.codec import bytes_read, decode_as, decode_json, encode_json
from steersman.objects.meta import Condition
from steersman.objects.resource import KubeObject, Status, resource_of
from steersman.protocol.patches import merge_patch_between

#: The condition that says whether an object is in its desired state.
READY = "Ready"


#: Reasons of the Ready condition that only the framework sets.
RECONCILE_FAILED, CLEANUP_FAILED, RETRYING = "ReconcileFailed", "CleanupFailed", "ReconcileRetrying"
_REPORTS = frozenset({RECONCILE_FAILED, CLEANUP_FAILED, RETRYING, AlreadyOwned.REASON})
#: Begin of the suffix in the message of a Ready condition that was set for ``Blocked``.
_WAITING_FOR = " (waiting for "


def waiting_message(message: str, awaited: object) -> str:
    """Return the message for an object that waits for another one; ``is_report`` recognises it after a restart."""
    return f"{message}{_WAITING_FOR}{awaited})"


def is_report(ready: Condition) -> bool:
    """Return whether the framework set a Ready condition for a failure, so that it is removed after a success."""
    return ready.reason in _REPORTS or (_WAITING_FOR in ready.message and ready.message.endswith(")"))


class _Stored(Struct):
    """An object of which only the status is read."""

    status: Any = None


class StatusDraft:
    """Remember an object's status as it was read."""

    def __init__(self, obj: KubeObject) -> None:
        self._obj = obj
        self._before = self._encoded()
        self._generation = obj.generation
        self._ready_before = self._ready()
        #: The status as JSON as it was and as it is written, once ``patch`` has compared them.
        self.states = (b"", b"")

    def observe_generation(self) -> None:
        """Set the observed generation in the status to the one that was read."""
        status = getattr(self._obj, "status", None)
        if isinstance(status, Status) and self._generation:
            status.observed_generation = self._generation

    def retire_failure(self, *, succeeded: bool) -> None:
        """Remove an outdated Ready=False, if the run did not change it.

        It is outdated if it is about an earlier generation, or if it reports a failure and the run succeeded.
        """
        status = getattr(self._obj, "status", None)
        ready = self._ready()
        if not isinstance(status, Status) or ready is None or ready is not self._ready_before:
            return
        is_earlier = ready.observed_generation not in (None, self._generation)
        if ready.status == "False" and (is_earlier or (succeeded and is_report(ready))):
            status.conditions.remove(ready)

    def end_pause(self) -> None:
        """Remove the condition of a pause that has ended."""
        status = getattr(self._obj, "status", None)
        paused = status.condition(PAUSE_CONDITION) if isinstance(status, Status) else None
        if isinstance(status, Status) and paused is not None and paused.reason == PAUSE_REASON:
            status.conditions.remove(paused)

    def patch(self) -> JsonObject | None:
        """Return the merge patch of what changed; ``None`` if nothing did."""
        after = self._encoded()
        if after == self._before:
            return None
        self.states = self._before, after
        old, new = decode_json(self._before) or {}, decode_json(after) or {}
        # A field that the server does not have yet is sent even if it has its default: a count of 0 is not the same as
        # an absent one.
        stored = self._stored()
        changes = merge_patch_between({name: value for name, value in old.items() if name in stored}, new)
        # The uid prevents writing to a later object of the same name.
        return {"metadata": {"uid": self._obj.uid}, "status": changes}

    async def write(self, writer: Writer) -> Written | None:
        """Write what changed; return the metadata afterwards, ``None`` if there was nothing to write."""
        patch = self.patch()
        if patch is None:
            return None
        has_status = "status" in resource_of(type(self._obj)).subresources
        return await (writer.status if has_status else writer).patch_for_version(self._obj, patch)

    def _stored(self) -> JsonObject:
        read = bytes_read(self._obj)
        status = None if read is None else decode_as(_Stored, read).status
        return status if isinstance(status, dict) else {}

    def _encoded(self) -> bytes:
        return encode_json(getattr(self._obj, "status", None))

    def _ready(self) -> Any:
        status = getattr(self._obj, "status", None)
        return status.condition(READY) if isinstance(status, Status) else None
