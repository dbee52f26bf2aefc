"""AdmissionReview as bytes and back: what the API server asks, and what it is answered. No I/O, no author's code."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Raw

from steersman.errors import DecodeError, Deny
from steersman.objects.codec import decode_as, encode_json
from steersman.objects.model import Model, field
from steersman.webhook.reviews.failure import ReviewFailed

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE"]

_API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_NULL: Final = b"null"
_FORBIDDEN, _INVALID = 403, 422


class Kind(Model):
    """A kind as reviews name it."""

    group: str = ""
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.kind}" if self.group else f"{self.version} {self.kind}"


class UserInfo(Model):
    """Who asks, as the API server knows them."""

    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class AdmissionRequest(Model):
    """The question of a review. Objects are still bytes; an absent one is empty."""

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
        """The object as it is to be; empty when it is to go."""
        return _present(self.object)

    @property
    def old(self) -> bytes:
        """The object as it is; empty when it is new."""
        return _present(self.old_object)


class _Review(Model):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


class _Envelope(Model):
    """What must be right before the rest is looked at: the request of another version may have any shape."""

    api_version: str = ""
    kind: str = ""


def request_of(body: bytes) -> AdmissionRequest:
    """Read a review; raise ``ReviewFailed`` that says why it is none."""
    try:
        envelope = decode_as(_Envelope, body)
        if (envelope.api_version, envelope.kind) != (_API_VERSION, _KIND):
            given = f"{envelope.api_version or 'no apiVersion'} {envelope.kind or 'without kind'}"
            raise ReviewFailed(400, f"expected {_API_VERSION} {_KIND}, got {given}")
        request = decode_as(_Review, body).request
    except DecodeError as error:
        raise ReviewFailed(400, f"the body is no {_KIND}: {error}") from None
    if request is None:
        raise ReviewFailed(400, f"the {_KIND} has no request")
    if not request.uid:
        raise ReviewFailed(400, f"the request of the {_KIND} has no uid")
    return request


def allowed(uid: str, warnings: Sequence[str] = (), patch: Sequence[Mapping[str, Any]] = ()) -> bytes:
    """Let a write pass, changed by a JSON patch if there is one."""
    response: dict[str, Any] = {"uid": uid, "allowed": True, **_told(warnings)}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(encode_json(patch)).decode()}
    return _answer(response)


def denied(request: AdmissionRequest, reason: Deny, warnings: Sequence[str] = ()) -> bytes:
    """Refuse a write; one that names a field is invalid, any other is forbidden."""
    status: dict[str, Any] = {"code": _FORBIDDEN, "reason": "Forbidden", "message": str(reason)}
    if reason.field:
        cause = {"reason": "FieldValueInvalid", "message": reason.message, "field": reason.field}
        # With these kubectl names the object as it does for an error of the schema.
        about = {"name": request.name, "group": request.kind.group, "kind": request.kind.kind}
        status |= {"code": _INVALID, "reason": "Invalid", "details": {**about, "causes": [cause]}}
    return _answer({"uid": request.uid, "allowed": False, **_told(warnings), "status": status})


def _told(warnings: Sequence[str]) -> dict[str, list[str]]:
    return {"warnings": list(warnings)} if warnings else {}


def _answer(response: dict[str, Any]) -> bytes:
    return encode_json({"apiVersion": _API_VERSION, "kind": _KIND, "response": response})


def _present(raw: Raw) -> bytes:
    content = bytes(raw)
    return b"" if content == _NULL else content
