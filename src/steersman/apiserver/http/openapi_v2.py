"""`/openapi/v2`: a document without kinds, for clients that fall back to it.

Every schema is in `/openapi/v3`, which kubectl asks first. It asks here about objects of kinds that are not served, and
takes a missing page for the answer to the whole command; from a document that does not know the kind it goes on, and
then tells the user that the definition is missing.
"""

from typing import Final

from steersman.apiserver.messages.negotiation import accept_clauses
from steersman.apiserver.status import not_acceptable
from steersman.objects.codec import encode_json
from steersman.protocol.http import Request, Response

_JSON: Final = "application/json"
_PROTOBUF: Final = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
_TITLE, _VERSION, _WHY = "Kubernetes", "v1.36.4", "The schemas of all kinds are in /openapi/v3."


def openapi_v2(request: Request) -> Response:
    """Return the document in the form that the client prefers."""
    for clause in accept_clauses(request.headers.get("accept", "")):
        if clause.media in _PROTOBUF:
            return Response(200, [("content-type", _PROTOBUF[0]), ("vary", "Accept")], _PROTOBUF_DOCUMENT)
        if clause.media in (_JSON, "application/*", "*/*"):
            return Response(200, [("content-type", _JSON), ("vary", "Accept")], _JSON_DOCUMENT)
    text = f"406: Not Acceptable\n\nAvailable representations: {_JSON}, {_PROTOBUF[0]}"
    raise not_acceptable(text, with_details=True)


def _field(number: int, content: bytes) -> bytes:
    """Write a field with a length; those of this document are short."""
    return bytes([number << 3 | 2, len(content)]) + content


_INFO: Final = _field(1, _TITLE.encode()) + _field(2, _VERSION.encode()) + _field(3, _WHY.encode())
_PROTOBUF_DOCUMENT: Final = _field(1, b"2.0") + _field(2, _INFO) + _field(8, b"")
_JSON_DOCUMENT: Final = encode_json(
    {"swagger": "2.0", "info": {"title": _TITLE, "version": _VERSION, "description": _WHY}, "paths": {}}
)
