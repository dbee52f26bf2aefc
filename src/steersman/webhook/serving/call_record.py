"""From a review and its response to the record in the history. Nothing of the reviewed object is kept but its name."""

from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from steersman.history.records import ObjectName, WebhookCall
from steersman.protocol.confidential import is_confidential_resource, without_quoted_values

#: Characters of a message that are kept.
_MESSAGE = 300
_CONVERSION = "CONVERT"


class CallTiming(NamedTuple):
    """When a review arrived, and how long its response took."""

    started: datetime
    seconds: float


class _Kind(Struct, frozen=True):
    group: str = ""
    kind: str = ""


class _Resource(Struct, frozen=True):
    resource: str = ""


class _Request(Struct, frozen=True, rename="camel"):
    operation: str = ""
    kind: _Kind = _Kind()
    resource: _Resource = _Resource()
    namespace: str = ""
    name: str = ""
    desired_api_version: str = msgspec.field(default="", name="desiredAPIVersion")


class _Review(Struct):
    request: _Request = _Request()


class _Status(Struct, frozen=True):
    message: str = ""


class _Response(Struct, frozen=True):
    allowed: bool | None = None
    status: _Status | None = None


class _Answer(Struct):
    response: _Response = _Response()


_review = msgspec.json.Decoder(_Review).decode
_answer = msgspec.json.Decoder(_Answer).decode


def call_record(webhook: str, body: bytes, status: int, response: bytes, timing: CallTiming, trace: str) -> WebhookCall:
    """Return the record of a review; one that cannot be read is recorded without its content."""
    try:
        asked = _review(body).request
    except (msgspec.MsgspecError, RecursionError):
        asked = _Request()
    try:
        said = _answer(response).response
    except (msgspec.MsgspecError, RecursionError):
        said = _Response()
    name = ObjectName(asked.kind.kind, asked.namespace, asked.name, asked.kind.group) if asked.kind.kind else None
    message = "" if said.status is None else without_quoted_values(said.status.message)
    return WebhookCall(
        webhook=webhook,
        started=timing.started,
        seconds=timing.seconds,
        status=status,
        operation=_CONVERSION if asked.desired_api_version else asked.operation,
        object=name,
        is_allowed=said.allowed,
        message="" if is_confidential_resource(asked.resource.resource) else message[:_MESSAGE],
        trace=trace,
    )
