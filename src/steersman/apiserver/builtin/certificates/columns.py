"""Columns of CertificateSigningRequests."""

from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, NONE, at, column, field
from steersman.apiserver.resources.columns import NAME, human_duration
from steersman.json_types import JsonObject


def _duration(obj: JsonObject, _now: datetime) -> str:
    seconds = at(obj, "spec", "expirationSeconds")
    return NONE if seconds is None else human_duration(seconds)


def _request_status(obj: JsonObject, _now: datetime) -> str:
    types = {condition.get("type") for condition in at(obj, "status", "conditions", default=())}
    word = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    failed = ",Failed" if "Failed" in types else ""
    return f"{word}{failed}{',Issued' if at(obj, 'status', 'certificate') else ''}"


CERTIFICATE_SIGNING_REQUEST = (
    NAME,
    AGE,
    column("SignerName", field("spec", "signerName", default=NONE)),
    column("Requestor", field("spec", "username")),
    column("RequestedDuration", _duration),
    column("Condition", _request_status),
)
