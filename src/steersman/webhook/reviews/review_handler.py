"""One review answered: objects become typed, the author's function speaks, its word becomes the answer.

A ``Deny`` is a denial. Anything else that the function raises is a fault: it is logged with the request's uid, and the
API server follows the failure policy. Nothing is ever answered but a verdict with the uid that was asked.
"""

import inspect
import logging
from typing import Any, Generic, TypeVar

from steersman.client.client import Client
from steersman.client.update_patch import document_now
from steersman.errors import DecodeError, Deny
from steersman.objects.codec import decode, decode_json
from steersman.objects.resource import KubeObject
from steersman.protocol.patches import json_patch_between
from steersman.webhook.admission import Admission
from steersman.webhook.declaration import Role, Webhook
from steersman.webhook.reviews.admission_review import AdmissionRequest, Kind, allowed, denied, request_of
from steersman.webhook.reviews.failure import ReviewFailed

K = TypeVar("K", bound=KubeObject)

_log = logging.getLogger("steersman.webhook")


class Judge(Generic[K]):
    """Answers the reviews of one webhook."""

    def __init__(self, webhook: Webhook[K], client: Client) -> None:
        self._webhook = webhook
        self._client = client

    def __repr__(self) -> str:
        return f"<Judge {self._webhook!r}>"

    async def review(self, body: bytes) -> bytes:
        """Answer a review; raise ``ReviewFailed`` when there is no verdict."""
        request = request_of(body)
        self._check(request)
        warnings: tuple[str, ...] = ()
        try:
            obj, old = self._objects(request)
            admission = Admission(request, old, self._client)
            try:
                # Nobody is kept from removing a finalizer. The configuration says so too, where it can.
                if request.operation != "UPDATE" or not obj.is_deleting:
                    await self._ask(obj, admission)
            finally:
                warnings = admission.warnings
        except Deny as denial:
            return denied(request, denial, warnings)
        except Exception as error:  # noqa: BLE001 - a fault of the author's code, told and survived
            name = self._webhook.name
            _log.exception("webhook failed", extra={"webhook": name, "uid": request.uid, "object": request.name})
            why = f"{name} failed with {type(error).__name__}: the operator's log has it under uid {request.uid}"
            raise ReviewFailed(500, why) from None
        return allowed(request.uid, warnings, self._patch(obj, request))

    def _check(self, request: AdmissionRequest) -> None:
        """Refuse a question about something else: the configuration does not fit the program."""
        gvk = self._webhook.resource.gvk
        wanted = Kind(group=gvk.group, version=gvk.version, kind=gvk.kind)
        if request.kind != wanted:
            raise ReviewFailed(400, f"{self._webhook.name} is about {wanted}, not {request.kind}")
        if not request.new and not request.old:
            raise ReviewFailed(400, f"the review {request.uid} holds no object")

    def _objects(self, request: AdmissionRequest) -> tuple[K, K | None]:
        """Read the object as it is to be, or what is to go, and the object as it is."""
        old = self._decoded(request.old) if request.old else None
        if request.new:
            return self._decoded(request.new), old
        return self._decoded(request.old), old

    def _decoded(self, content: bytes) -> K:
        try:
            return decode(self._webhook.kind, content)
        except DecodeError as error:
            raise Deny(str(error)) from None

    async def _ask(self, obj: K, admission: Admission[K]) -> None:
        answer = self._webhook.function(obj, admission)
        if inspect.isawaitable(answer):
            await answer

    def _patch(self, obj: K, request: AdmissionRequest) -> list[dict[str, Any]]:
        """Give what a defaulting function changed; the copy of a validating one is its own affair."""
        if self._webhook.role is not Role.DEFAULT:
            return []
        return json_patch_between(decode_json(request.new), document_now(obj))
