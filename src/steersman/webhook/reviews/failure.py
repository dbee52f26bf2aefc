"""`ReviewFailed`: a review that gets no response, so that the API server applies the failure policy."""

from typing import Final

from steersman.objects.codec import encode_json
from steersman.protocol.http import Response

_REASONS: Final = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    504: "Timeout",
}


class ReviewFailed(Exception):  # noqa: N818 - the outcome of a review
    """A review cannot be answered; the API server shows the message to the user."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def refusal(code: int, message: str) -> Response:
    """Return the failure as a Kubernetes ``Status``; the API server shows its message to the user."""
    reason = _REASONS.get(code, "InternalError")
    status = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Response(code, [("content-type", "application/json")], encode_json(status))
