"""Every failure of the server, with its message: a `Refusal`, which becomes a ``Status`` in the response.

The constructors below are the whole vocabulary; their texts are those of Kubernetes, because clients quote them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from steersman.errors import Cause
from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError, invalid_message

#: Characters of the message of a refusal.
_LONGEST_MESSAGE = 1024 * 1024


class Refusal(Exception):  # noqa: N818 - it is an answer, not a bug
    """A request that is answered with a ``Status`` of failure."""

    def __init__(  # noqa: PLR0913 - the members of a Status, by name
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
        headers: Sequence[tuple[str, str]] = (),
        continue_token: str = "",
        warnings: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = tuple(headers)
        #: Where an expired list can go on, inconsistently.
        self.continue_token = continue_token
        #: Sent as ``Warning`` headers: those of all steps up to the one that failed.
        self.warnings = tuple(warnings)

    def after(self, warnings: Sequence[str]) -> "Refusal":
        """Return the same failure, with the warnings that were given before it."""
        if not warnings:
            return self
        return Refusal(
            self.code,
            self.reason,
            self.message,
            details=self.details,
            headers=self.headers,
            continue_token=self.continue_token,
            warnings=(*warnings, *self.warnings),
        )

    def document(self) -> JsonObject:
        """Return the ``Status`` object, in the order in which Kubernetes writes it."""
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class Warned(Protocol):
    """A value that carries the warnings of everything that led to it."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the client, in the order in which they were given."""


V = TypeVar("V", bound=Warned)
T = TypeVar("T")


def advance(stage: Callable[[V], T], value: V) -> T:
    """Return the next value of a request; a failure of the stage carries the warnings of the value before it."""
    try:
        return stage(value)
    except Refusal as refusal:
        raise refusal.after(value.warnings) from None


def details(name: str = "", group: str = "", kind: str = "") -> JsonObject:
    """Return the identifying part of ``Status.details``, without empty members."""
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def qualified(resource: str, group: str) -> str:
    """Return ``widgets.demo.dev``, the name of a resource in messages."""
    return f"{resource}.{group}" if group else resource


def success(name: str, group: str, resource: str, uid: str) -> JsonObject:
    """Return the ``Status`` of a successful delete."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**details(name, group, resource), "uid": uid},
    }


def created() -> JsonObject:
    """Return the ``Status`` of what was created and is not stored: a binding, an eviction."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def not_found(resource: str, group: str, name: str) -> Refusal:
    """404: there is no such object."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return Refusal(404, "NotFound", message, details=details(name, group, resource))


def no_such_resource() -> Refusal:
    """404: nothing is served under this path of a known group."""
    return Refusal(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(resource: str, group: str, name: str) -> Refusal:
    """409: the name is taken."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=details(name, group, resource))


def conflict(resource: str, group: str, name: str, why: str) -> Refusal:
    """409: the object is not in the state that the request assumes."""
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=details(name, group, resource))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(resource: str, group: str, name: str, why: str) -> Refusal:
    """403: the request is forbidden."""
    target = f'{qualified(resource, group)} "{name}"' if name else qualified(resource, group)
    return Refusal(403, "Forbidden", f"{target} is forbidden: {why}", details=details(name, group, resource))


def causes_of(errors: Sequence[FieldError]) -> list[dict[str, str]]:
    """Return the causes of a 422."""
    return [cause_document(error.cause) for error in errors]


def cause_document(cause: Cause) -> dict[str, str]:
    """Return a cause as a document, without empty members."""
    parts = (("reason", cause.reason), ("message", cause.message), ("field", cause.field))
    return {key: value for key, value in parts if value}


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> Refusal:
    """422: the object is invalid; every error is a cause, once."""
    errors = _reported(list({(error.type, error.field, error.message): error for error in errors}.values()))
    told = {**details(name, group, kind), "causes": causes_of(errors)}
    return Refusal(422, "Invalid", invalid_message(errors, kind=kind, group=group, name=name), details=told)


def _reported(errors: Sequence[FieldError]) -> Sequence[FieldError]:
    """Return as many errors as fit into a response: each may quote a list that has an error for each of its items."""
    total = 0
    for count, error in enumerate(errors):
        total += len(error.message)
        if total > _LONGEST_MESSAGE:
            return errors[: max(count, 1)]
    return errors


def bad_request(message: str) -> Refusal:
    """400: the request is malformed."""
    return Refusal(400, "BadRequest", message)


def internal_error(message: str) -> Refusal:
    """500: what Kubernetes responds to requests that it did not expect."""
    return Refusal(500, "", message)


def method_not_allowed() -> Refusal:
    """405: the resource does not support this method."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def unauthorized() -> Refusal:
    """401: the credentials are unknown."""
    return Refusal(401, "Unauthorized", "Unauthorized")


def too_large(limit: int) -> Refusal:
    """413: the body exceeds what the server reads."""
    return Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def version_too_large(wanted: int, current: int) -> Refusal:
    """504: the request is for a version that this server has not reached."""
    told = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return Refusal(504, "Timeout", message, details=told, headers=(("retry-after", "1"),))


def not_acceptable(message: str, *, with_details: bool = False) -> Refusal:
    """406: the server cannot respond in an accepted form."""
    return Refusal(406, "NotAcceptable", message, details={} if with_details else None)


def unsupported_media_type(message: str, *, with_details: bool = False) -> Refusal:
    """415: the media type of the body is not supported here."""
    return Refusal(415, "UnsupportedMediaType", message, details={} if with_details else None)
