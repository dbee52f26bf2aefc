"""`ReviewHandler`: decodes the objects of a review, calls the author's function, and builds the response.

A ``Deny`` rejects the write. Any other exception is a bug of the function: it is logged with the uid of the request,
and the API server applies the failure policy. Every response has the uid of its request.
"""

import inspect
import logging
from typing import Generic, TypeVar

from steersman.client.client import Client
from steersman.client.update_patch import document_now
from steersman.errors import DecodeError, Deny
from steersman.json_types import JsonObject
from steersman.objects.codec import decode, decode_json
from steersman.objects.resource import KubeObject
from steersman.protocol.patches import json_patch_between
from steersman.webhook.admission import Admission
from steersman.webhook.declaration import Webhook, WebhookRole
from steersman.webhook.reviews.admission_review import AdmissionRequest, Kind, allowed, denied, request_of
from steersman.webhook.reviews.failure import ReviewFailed

K = TypeVar("K", bound=KubeObject)

_log = logging.getLogger("steersman.webhook")


class ReviewHandler(Generic[K]):
    """Answer the reviews of one webhook."""

    def __init__(self, webhook: Webhook[K], client: Client) -> None:
        self._webhook = webhook
        self._client = client

    def __repr__(self) -> str:
        return f"<ReviewHandler {self._webhook!r}>"

    async def review(self, body: bytes) -> bytes:
        """Return the response to a review; raise ``ReviewFailed`` if there is none."""
        request = request_of(body)
        self._check(request)
        warnings: tuple[str, ...] = ()
        try:
            obj, old = self._objects(request)
            admission = Admission(request, old, self._client)
            try:
                # Finalizers can always be removed. The match condition of the configuration says the same, where the
                # API server supports it.
                if request.operation != "UPDATE" or not obj.is_deleting:
                    await self._call(obj, admission)
            finally:
                warnings = admission.warnings
        except Deny as denial:
            return denied(request, denial, warnings)
        except Exception as error:  # noqa: BLE001 - a bug of the author's code must not end the server
            name = self._webhook.name
            _log.exception("webhook failed", extra={"webhook": name, "uid": request.uid, "object": request.name})
            why = f"{name} failed with {type(error).__name__}: the operator's log has it under uid {request.uid}"
            raise ReviewFailed(500, why) from None
        return allowed(request.uid, warnings, self._patch(obj, request))

    def _check(self, request: AdmissionRequest) -> None:
        """Reject a review of another kind: the configuration does not match the program."""
        gvk = self._webhook.resource.gvk
        wanted = Kind(group=gvk.group, version=gvk.version, kind=gvk.kind)
        if request.kind != wanted:
            raise ReviewFailed(400, f"{self._webhook.name} reviews {wanted}, not {request.kind}")
        if not request.new and not request.old:
            raise ReviewFailed(400, f"the review {request.uid} contains no object")

    def _objects(self, request: AdmissionRequest) -> tuple[K, K | None]:
        """Return the new object (for a delete the existing one), and the old object."""
        old = self._decoded(request.old) if request.old else None
        if request.new:
            return self._decoded(request.new), old
        return self._decoded(request.old), old

    def _decoded(self, content: bytes) -> K:
        try:
            return decode(self._webhook.kind, content)
        except DecodeError as error:
            raise Deny(str(error)) from None

    async def _call(self, obj: K, admission: Admission[K]) -> None:
        answer = self._webhook.function(obj, admission)
        if inspect.isawaitable(answer):
            await answer

    def _patch(self, obj: K, request: AdmissionRequest) -> list[JsonObject]:
        """Return what a defaulting function changed; changes by a validating function are ignored."""
        if self._webhook.role is not WebhookRole.DEFAULT:
            return []
        return json_patch_between(decode_json(request.new), document_now(obj))
