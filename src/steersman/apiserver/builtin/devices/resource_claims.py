"""ResourceClaims and their templates: defaults."""

from typing import Any

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject


def _default_device_requests(requests: Any) -> None:
    for request in requests or ():
        exact = request.get("exactly")
        for part in [exact] if exact is not None else request.get("firstAvailable") or ():
            set_default(part, allocationMode="ExactCount")
            if part["allocationMode"] == "ExactCount":
                set_default(part, count=1)
            for toleration in part.get("tolerations") or ():
                set_default(toleration, operator="Equal")


def default_resource_claim(obj: JsonObject) -> None:
    """Set the defaults of a ResourceClaim."""
    _default_device_requests((obj["spec"].get("devices") or {}).get("requests"))


def default_resource_claim_template(obj: JsonObject) -> None:
    """Set the defaults of a ResourceClaimTemplate."""
    devices = ((obj.get("spec") or {}).get("spec") or {}).get("devices") or {}
    _default_device_requests(devices.get("requests"))
