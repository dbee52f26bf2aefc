"""AdmissionReview: parsing the request and building the response. No I/O, no author's code."""

import base64
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Raw

from steersman.errors import DecodeError, Deny
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_as, encode_json
from steersman.objects.model import Model, field
from steersman.webhook.reviews.failure import ReviewFailed

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE"]

_API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_NULL: Final = b"null"
_FORBIDDEN, _INVALID = 403, 422


class Kind(Model):
    """A kind as it appears in reviews."""

    group: str = ""
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.kind}" if self.group else f"{self.version} {self.kind}"


class UserInfo(Model):
    """The user as the API server authenticated them."""

    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class AdmissionRequest(Model):
    """The request of a review. Objects are not decoded; an absent one is empty."""

    uid: str
    kind: Kind
    operation: Operation
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = field(default_factory=UserInfo)
    dry_run: bool | None = None
    object: Raw = field(default_factory=Raw)
    old_object: Raw = field(default_factory=Raw)

    @property
    def new(self) -> bytes:
        """New object; empty for a delete."""
        return _present(self.object)

    @property
    def old(self) -> bytes:
        """Existing object; empty for a create."""
        return _present(self.old_object)


class _Review(Model):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


class _Envelope(Model):
    """The part that is checked first: the request of another API version may have any shape."""

    api_version: str = ""
    kind: str = ""


def request_of(body: bytes) -> AdmissionRequest:
    """Parse a review; raise ``ReviewFailed`` if it is not valid."""
    try:
        envelope = decode_as(_Envelope, body)
        if (envelope.api_version, envelope.kind) != (_API_VERSION, _KIND):
            given = f"{envelope.api_version or 'no apiVersion'} {envelope.kind or 'without kind'}"
            raise ReviewFailed(400, f"expected {_API_VERSION} {_KIND}, got {given}")
        request = decode_as(_Review, body).request
    except DecodeError as error:
        raise ReviewFailed(400, f"the body is not a valid {_KIND}: {error}") from None
    if request is None:
        raise ReviewFailed(400, f"the {_KIND} has no request")
    if not request.uid:
        raise ReviewFailed(400, f"the request of the {_KIND} has no uid")
    return request


def allowed(uid: str, warnings: Sequence[str] = (), patch: Sequence[Mapping[str, object]] = ()) -> bytes:
    """Return the response that allows a write, with a JSON patch if the object was changed."""
    response: JsonObject = {"uid": uid, "allowed": True, **_warnings(warnings)}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(encode_json(patch)).decode()}
    return _review(response)


def denied(request: AdmissionRequest, reason: Deny, warnings: Sequence[str] = ()) -> bytes:
    """Return the response that rejects a write: 422 Invalid if the denial names a field, otherwise 403 Forbidden."""
    status: JsonObject = {"code": _FORBIDDEN, "reason": "Forbidden", "message": str(reason)}
    if reason.field:
        cause = {"reason": "FieldValueInvalid", "message": reason.message, "field": reason.field}
        # kubectl prints these details as it does for schema errors.
        about = {"name": request.name, "group": request.kind.group, "kind": request.kind.kind}
        status |= {"code": _INVALID, "reason": "Invalid", "details": {**about, "causes": [cause]}}
    return _review({"uid": request.uid, "allowed": False, **_warnings(warnings), "status": status})


def _warnings(warnings: Sequence[str]) -> dict[str, list[str]]:
    return {"warnings": list(warnings)} if warnings else {}


def _review(response: JsonObject) -> bytes:
    return encode_json({"apiVersion": _API_VERSION, "kind": _KIND, "response": response})


def _present(raw: Raw) -> bytes:
    content = bytes(raw)
    return b"" if content == _NULL else content
