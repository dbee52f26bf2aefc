"""The meaning of a response: the body of a success, or the exception of its ``Status``; and its warnings.

The one place where failures become exceptions; everywhere else they are caught by type.
"""

import re
from http import HTTPStatus

import msgspec
from msgspec import Struct

from steersman.errors import (
    AlreadyExists,
    ApiError,
    BadAnswer,
    BadRequest,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    KindNotServed,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    SteersmanError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.http import Response

#: ``Status.reason`` → exception: the reasons of ``metav1.StatusReason``.
_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "BadRequest": BadRequest,
    "Conflict": Conflict,
    "Expired": Expired,
    "Forbidden": Forbidden,
    "Gone": Gone,
    "InternalError": InternalError,
    "Invalid": Invalid,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "NotFound": NotFound,
    "RequestEntityTooLarge": RequestEntityTooLarge,
    "ServerTimeout": ServerTimeout,
    "ServiceUnavailable": ServiceUnavailable,
    "Timeout": Timeout,
    "TooManyRequests": TooManyRequests,
    "Unauthorized": Unauthorized,
    "UnsupportedMediaType": UnsupportedMediaType,
}

#: For responses whose reason is missing or unknown; 409 without a reason is a conflict.
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: Timeout,
}

_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
#: Characters that an error message quotes of a page that is not an API response.
_QUOTED = 80


class _Cause(Struct):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _Details(Struct, rename="camel"):
    name: str | None = None
    group: str | None = None
    kind: str | None = None
    causes: list[_Cause] | None = None
    retry_after_seconds: int | None = None


class _Status(Struct):
    kind: str = ""
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None
    code: int | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


def body_of(response: Response) -> bytes:
    """Return the body of a success; raise the exception of any other response."""
    if response.status in _SUCCESS and not _is_html(response.header("content-type"), response.body):
        return response.body
    raise error_of(response)


def error_of(response: Response) -> ApiError | BadAnswer:
    """Return the exception of a response that is not a success."""
    content_type = response.header("content-type")
    if response.status in _REDIRECT:
        # Behind a question mark there may be a token.
        place = response.header("location").partition("?")[0]
        return BadAnswer(f"the server redirects ({response.status}) to {place!r}: is its URL right?")
    if _is_html(content_type, response.body):
        return BadAnswer(
            f"not a Kubernetes API: the response with status {response.status} is an HTML page that begins with "
            f"{_first_words(response.body)!r}"
        )
    return error_from_status(response.body, code=response.status, retry_after=_seconds(response.header("retry-after")))


def error_from_status(body: bytes | msgspec.Raw, *, code: int = 500, retry_after: float | None = None) -> ApiError:
    """Return the exception of a ``Status`` object; ``code`` is used if it has none.

    A body that is not a ``Status`` still becomes an exception, by its code and with its text as the message.
    """
    try:
        status = _decode_status(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        status = _Status()
    if status.kind != "Status":
        return _error_by_code(bytes(body), code, retry_after)
    code = status.code or code
    details = status.details or _Details()
    reason = status.reason or ""
    # The Retry-After header takes precedence; the Status may repeat it.
    asked = details.retry_after_seconds
    return _BY_REASON.get(reason, _BY_CODE.get(code, ApiError))(
        status.message or _phrase(code),
        code=code,
        reason=reason,
        group=details.group or "",
        kind=details.kind or "",
        name=details.name or "",
        causes=[Cause(cause.reason or "", cause.message or "", cause.field or "") for cause in details.causes or ()],
        retry_after=float(asked) if asked else retry_after,
    )


def kind_not_served(name: str, *, group: str = "", kind: str = "") -> KindNotServed:
    """Return the error for a kind that the server does not serve, with what to do about it."""
    return KindNotServed(
        f"the server does not serve {name}: its CustomResourceDefinition is not installed; for a kind of your operator "
        "run 'steer install' or 'steer run --install-crds'",
        code=404,
        reason="NotFound",
        group=group,
        kind=kind,
    )


def collection_error(error: SteersmanError, gvk: GroupVersionKind) -> SteersmanError:
    """Return the exception of a failed list or watch: a collection that is not found is a kind that is not served.

    The list of a missing namespace is empty, so there is no other reason for a 404.
    """
    if isinstance(error, NotFound):
        return kind_not_served(f"{gvk.kind} ({gvk.api_version})", group=gvk.group, kind=gvk.kind)
    return error


def _error_by_code(body: bytes, code: int, retry_after: float | None) -> ApiError:
    message = _first_words(body) or _phrase(code)
    return _BY_CODE.get(code, ApiError)(message, code=code, retry_after=retry_after)


def _phrase(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"status {code}"


def is_too_large_version(error: Exception) -> bool:
    """Return whether a read failed because the server has not reached the resource version that was asked for."""
    return isinstance(error, (Timeout, ServerTimeout)) and any(
        cause.reason == "ResourceVersionTooLarge" for cause in error.causes
    )


def _is_html(content_type: str, body: bytes) -> bool:
    if content_type.startswith("text/html"):
        return True
    return body[:1] != b"{" and body[:64].lstrip()[:1] == b"<"


def _first_words(body: bytes) -> str:
    text = re.sub(r"\s+", " ", body[: 4 * _QUOTED].decode("utf-8", "replace")).strip()
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def _seconds(text: str) -> float | None:
    """Read ``Retry-After`` in seconds; its other form, a date, is none that Kubernetes sends."""
    return float(text) if text.isascii() and text.isdigit() else None


#: One warning of a ``Warning`` header: code, agent, quoted text, and possibly a quoted date.
_WARNING = re.compile(r'\s*(\d{3})\s+\S+\s+"((?:\\.|[^"\\])*)"(?:\s+"[^"]*")?\s*(?:,|$)', re.DOTALL)
_PERSISTENT = "299"


def warnings_of(response: Response) -> list[str]:
    """Return the texts that the server warns with (``299``); what does not parse is left out."""
    headers = response.header_values("warning")
    return [warning for header in headers for warning in _parse_warnings(header)] if headers else []


def _parse_warnings(header: str) -> list[str]:
    texts = []
    position = 0
    while (match := _WARNING.match(header, position)) is not None and match.end() > position:
        if match[1] == _PERSISTENT and match[2]:
            texts.append(re.sub(r"\\(.)", r"\1", match[2], flags=re.DOTALL))
        position = match.end()
    return texts
