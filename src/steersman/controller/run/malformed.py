"""Objects that do not decode: reported by an event and a condition, and not reconciled until they change."""

from steersman.client.interfaces import PatchWriter
from steersman.clock import Clock
from steersman.errors import SteersmanError
from steersman.history.records import MALFORMED
from steersman.json_types import JsonObject
from steersman.objects.codec import decode
from steersman.objects.identity import ApiResource
from steersman.objects.resource import Unstructured
from steersman.objects.times import format_time

REASON = MALFORMED


def condition_patch(obj: Unstructured, message: str, clock: Clock) -> JsonObject | None:
    """Return the patch that sets Ready=False and keeps the other conditions; ``None`` if it is set already."""
    status = obj.content.get("status")
    known = status.get("conditions") if isinstance(status, dict) else None
    conditions = [one for one in known if isinstance(one, dict)] if isinstance(known, list) else []
    old = next((one for one in conditions if one.get("type") == "Ready"), {})
    new = {
        "type": "Ready",
        "status": "False",
        "reason": REASON,
        "message": message,
        "lastTransitionTime": old.get("lastTransitionTime") if old.get("status") == "False" else None,
        "observedGeneration": obj.generation,
    }
    new["lastTransitionTime"] = new["lastTransitionTime"] or format_time(clock.now())
    if old == new:
        return None
    others = [one for one in conditions if one.get("type") != "Ready"]
    return {"status": {"conditions": [*others, new]}}


async def mark_malformed(
    status: PatchWriter, resource: ApiResource, data: bytes, message: str, clock: Clock
) -> SteersmanError | None:
    """Set the condition of an object that does not decode; return the error if that fails."""
    try:
        obj = decode(Unstructured, data)
        patch = condition_patch(obj, message, clock)
        if patch is not None and "status" in resource.subresources:
            await status.patch(obj, patch)
    except SteersmanError as error:
        return error
    return None
