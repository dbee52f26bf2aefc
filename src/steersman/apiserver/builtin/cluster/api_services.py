"""APIServices: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject


def default_api_service(obj: JsonObject) -> None:
    """Set the defaults of an APIService."""
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        set_default(service, port=443)
