"""AdmissionReview: what is sent to a webhook, and how its reply is read."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import request_document
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal
from steersman.apiserver.webhook_calls.replies import document_of
from steersman.apiserver.webhook_calls.targets import CallFailed, Reply
from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

_API_VERSION = "admission.k8s.io/v1"
_BAD_REQUEST = 400


class InvalidResponse(CallFailed):
    """A webhook's reply is invalid."""


@dataclass(frozen=True, slots=True)
class WebhookDecision:
    """The decision of a webhook about a write."""

    allowed: bool
    status: JsonObject
    warnings: tuple[str, ...] = ()
    #: The operations of its patch; ``None`` when it has none.
    patch: list[Any] | None = field(default=None, repr=False)


def review_of(
    attributes: Attributes, served: ServedResource, obj: JsonObject | None, old: JsonObject | None
) -> JsonObject:
    """Return the request of a review without its uid, with the objects in the version that the webhook gets."""
    told = request_document(attributes)
    gvk = served.resource.gvk
    if served is not attributes.request.served:
        told["kind"] = gvk._asdict()
        told["resource"] = {"group": gvk.group, "version": gvk.version, "resource": served.plural}
    order = (
        "kind",
        "resource",
        "subResource",
        "requestKind",
        "requestResource",
        "requestSubResource",
        "name",
        "namespace",
        "operation",
        "userInfo",
    )
    request = {key: told[key] for key in order if told.get(key)}
    return {**request, "object": obj, "oldObject": old, "dryRun": told["dryRun"], "options": told["options"]}


def decision_of(reply: Reply, uid: str, *, mutating: bool) -> WebhookDecision:
    """Parse a reply; raise `CallFailed` if it is invalid."""
    document = document_of(reply, "AdmissionReview", _API_VERSION)
    response = document.get("response")
    if response.__class__ is not dict:
        raise InvalidResponse("webhook response was absent")
    given = f"{document.get('apiVersion') or '/'}, Kind={document.get('kind') or ''}"
    if given != f"{_API_VERSION}, Kind=AdmissionReview":
        raise InvalidResponse(f"expected webhook response of {_API_VERSION}, Kind=AdmissionReview, got {given}")
    if response.get("uid", "") != uid:
        raise InvalidResponse(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    if not mutating:
        _check_no_patch(response)
    return WebhookDecision(
        response.get("allowed") is True,
        dict(response.get("status") or {}),
        tuple(str(text) for text in response.get("warnings") or ()),
        _patch_of(response) if mutating else None,
    )


def _check_no_patch(response: JsonObject) -> None:
    for name in ("patch", "patchType"):
        if response.get(name):
            raise InvalidResponse(f"validating webhook may not return response.{name}")


def _patch_of(response: JsonObject) -> list[Any] | None:
    patch, kind = response.get("patch"), response.get("patchType")
    if patch and not kind:
        raise InvalidResponse("webhook returned response.patch but not response.patchType")
    if kind and not patch:
        raise InvalidResponse("webhook returned response.patchType but not response.patch")
    if not patch:
        return None
    if kind != "JSONPatch":
        why = "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        raise CallFailed(f"received undecodable patch in webhook response: {why}")
    try:
        operations = decode_json(base64.b64decode(patch, validate=True))
    except (DecodeError, binascii.Error) as error:
        raise CallFailed(f"received undecodable patch in webhook response: {error}") from None
    if operations.__class__ is not list:
        raise CallFailed("received undecodable patch in webhook response: it is no list of operations")
    found: list[Any] = operations
    return found


def denial(name: str, status: JsonObject) -> Refusal:
    """Return the rejection that a webhook asks for."""
    by = f'admission webhook "{name}" denied the request'
    message, reason = status.get("message") or "", status.get("reason") or ""
    code = status.get("code") or 0
    text = f"{by}: {message or reason}" if message or reason else f"{by} without explanation"
    return Refusal(max(code, _BAD_REQUEST), reason, text, details=status.get("details"))


def failure(name: str, error: CallFailed) -> Refusal:
    """Return the rejection of a write because a required webhook could not be called."""
    if isinstance(error, InvalidResponse):
        text = f'failed calling webhook "{name}": received invalid webhook response: {error}'
    elif str(error).startswith("received undecodable patch"):
        text = f'failed calling webhook "{name}": {error}'
    else:
        text = f'failed calling webhook "{name}": failed to call webhook: {error}'
    return internal(text)


def internal(text: str) -> Refusal:
    """500: a webhook or another dependency of the server failed."""
    return Refusal(500, "InternalError", f"Internal error occurred: {text}", details={"causes": [{"message": text}]})
