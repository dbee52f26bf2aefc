"""APIServices: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.documents import Document


def default_api_service(obj: Document) -> None:
    """Set the defaults of an APIService."""
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        set_default(service, port=443)
