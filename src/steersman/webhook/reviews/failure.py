"""`ReviewFailed`: a review gets no verdict, and the API server follows its failure policy."""

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
    """A review cannot be answered; ``str()`` says why, in words that the API server passes on."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def refusal(code: int, message: str) -> Response:
    """Say why as a Kubernetes Status: the API server shows its message to whoever wrote."""
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
