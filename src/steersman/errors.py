"""Every exception that Steersman raises on purpose, in one tree.

::

    SteersmanError
    ├── ConfigError             a kubeconfig, option or file is wrong; names it
    ├── DeclarationError        a Python class cannot become a Kubernetes kind
    ├── ConversionError         an object cannot become one of another version without loss
    ├── DecodeError             bytes are not what they should be
    ├── SelectorError           a label or field selector does not parse
    ├── TransportError          no response, or not an HTTP response
    │   ├── ConnectionFailed    nothing was sent, or no server was reached
    │   ├── ConnectionLost      the connection broke after the request was sent
    │   ├── TlsError            certificates do not fit
    │   ├── NoAnswer            the timeout passed
    │   └── BadAnswer           the peer does not speak HTTP, or too much of it
    ├── ApiError                the API server responded with a failure; see ``code`` and ``reason``
    │   ├── BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable,
    │   ├── AlreadyExists, Conflict, Expired, Gone, Invalid, RequestEntityTooLarge,
    │   ├── UnsupportedMediaType, TooManyRequests, InternalError, ServiceUnavailable,
    │   ├── Timeout, ServerTimeout
    │   └── KindNotServed       a NotFound: its whole kind is not served
    ├── RegistryError           a container registry rejected a request; has its message
    ├── WaitTimeout             a condition did not become true in time
    ├── LeadershipLost          a write was rejected because this process no longer leads
    ├── NotPlanned              a plan cannot know what a call would do: a command in a pod, a token
    ├── Deny                    raised by a validating or defaulting function to reject a write
    └── ReconcileError          raised by a reconciler to control its own retries
        ├── Retry               try again later
        ├── Permanent           do not try again until the object changes
        └── Blocked             try again when another object appears or changes
            └── AlreadyOwned    ``ctx.apply`` found an object that belongs to another owner

An API failure is turned into its exception once, in ``protocol.responses``; everywhere else it is caught by meaning.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct


class SteersmanError(Exception):
    """The base class: ``except SteersmanError`` catches everything that Steersman raises on purpose."""


def text_of(error: BaseException) -> str:
    """Return the text of an exception, whatever its ``__str__`` does."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - the author's own method: whatever it raises must not hide the failure to be shown
        return "(its text cannot be shown: __str__ failed)"


class ConfigError(SteersmanError):
    """A setting is wrong; the message names the file, the context and the field."""


class DeclarationError(SteersmanError):
    """A class, a constraint or a rule cannot become a Kubernetes API; the message names the class and field."""


class ConversionError(SteersmanError):
    """An object cannot become one of another version; the message names the object, the version and the field."""


class DecodeError(SteersmanError):
    """Bytes are not the JSON, YAML or object that they should be; the message has the position."""


class SelectorError(SteersmanError, ValueError):
    """A label or field selector does not parse; the message quotes it."""


class TransportError(SteersmanError):
    """No usable HTTP answer came from the server."""


class ConnectionFailed(TransportError):
    """The connection was never made, so the request did not reach the server."""


class ConnectionLost(TransportError):
    """The connection broke after the request was sent: it may or may not have been carried out."""


class TlsError(TransportError):
    """The TLS handshake failed: wrong CA, wrong name, expired or missing certificate."""


class NoAnswer(TransportError):
    """The time limit passed without an answer: the request may or may not have been carried out."""


class BadAnswer(TransportError):
    """The peer answered with something that is not HTTP, or that exceeds a limit."""


class Cause(Struct, frozen=True):
    """One reason among several why a request was rejected, as in ``Status.details.causes``."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(SteersmanError):
    """The API server rejected the request or failed; ``str()`` is the server's own message."""

    def __init__(  # noqa: PLR0913 - the fields of a Kubernetes Status
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        group: str = "",
        kind: str = "",
        name: str = "",
        causes: Sequence[Cause] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.group = group
        self.kind = kind
        self.name = name
        self.causes = tuple(causes)
        self.retry_after = retry_after

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.code} {self.reason or '-'}: {self.message}>"


class BadRequest(ApiError):
    """400: the request itself is wrong."""


class Unauthorized(ApiError):
    """401: no or unknown credentials."""


class Forbidden(ApiError):
    """403: authenticated, but not allowed."""


class NotFound(ApiError):
    """404: no such object; see ``KindNotServed`` for a missing kind."""

    @property
    def is_object(self) -> bool:
        """Whether the API server itself reported that the object is missing.

        The page of a proxy, or a kind that is not served, is no evidence about the object.
        """
        return self.reason == "NotFound" and not isinstance(self, KindNotServed)


class KindNotServed(NotFound):
    """404: the server does not serve the kind, so the object may exist or not; the message has the command to run."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support this verb."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in the form that was asked for."""


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""


class Conflict(ApiError):
    """409: the object changed since it was read, or another field manager owns the field."""


class Gone(ApiError):
    """410: the resource existed and was removed."""


class Expired(Gone):
    """410: the resource version or continue token is too old; list again."""


class RequestEntityTooLarge(ApiError):
    """413: the body exceeds the server's limit."""


class UnsupportedMediaType(ApiError):
    """415: the server does not read this content type for this resource."""


class Invalid(ApiError):
    """422: the object breaks its schema or rules; see ``causes``."""


class TooManyRequests(ApiError):
    """429: slow down; see ``retry_after``."""


class InternalError(ApiError):
    """500: the server failed."""


class ServiceUnavailable(ApiError):
    """503: the server cannot serve now."""


class Timeout(ApiError):
    """504: the server gave up on this request."""


class ServerTimeout(ApiError):
    """500 or 504 with reason ServerTimeout: the work could not be finished in time; see ``retry_after``."""


class RegistryError(SteersmanError):
    """A container registry rejected a request; the message has its own text."""


class WaitTimeout(SteersmanError, TimeoutError):
    """A condition did not become true in time; the message has the last value."""


class NotPlanned(SteersmanError):
    """A plan cannot know what a call would do, and does not make it; the message names the call."""


class LeadershipLost(SteersmanError):
    """A write was rejected on this side, because this process can no longer be sure that it is the leader."""


class Deny(SteersmanError):
    """Reject the write that a webhook was called for; with a field it is Invalid (422), otherwise Forbidden (403)."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.message = message
        #: The path of the field that is wrong, such as ``spec.replicas``.
        self.field = field


class ReconcileError(SteersmanError):
    """Base of raised by a reconciler to control its own retries."""


class Retry(ReconcileError):
    """Retry later: after ``after`` seconds, or with the usual back-off by default."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Permanent(ReconcileError):
    """Do not try again until the object's generation changes; becomes a condition and a Warning event."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Blocked(ReconcileError):
    """Wait until another object appears or changes; becomes a condition and a Warning event meanwhile.

    ``kind``, ``name`` and ``namespace`` name that object as ``ctx.get`` does: without a namespace it is in that of the
    reconciled object. The object is also reconciled again after ``recheck`` seconds, whether it was woken or not.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        kind: type[Any],
        name: str,
        namespace: str | None = None,
        recheck: float = 300.0,
    ) -> None:
        super().__init__(message)
        if recheck <= 0:
            raise ValueError(f"recheck must be a positive number of seconds, got {recheck}")
        self.reason = reason
        self.message = message
        self.kind = kind
        self.name = name
        self.namespace = namespace
        self.recheck = recheck


class NotReady(Blocked):
    """Wait quietly until a child is ready, without an event; ``ctx.ready`` raises it."""

    def __init__(self, message: str, *, kind: type[Any], name: str, namespace: str, version: str) -> None:
        super().__init__(f"{kind.__name__}NotReady", message, kind=kind, name=name, namespace=namespace)
        #: Resource version of the child that was not ready.
        self.version = version


class AlreadyOwned(Blocked):
    """An object that ``ctx.apply`` was to write exists and belongs to another owner, ``owner``."""

    REASON: ClassVar = "AlreadyOwned"

    def __init__(self, message: str, *, kind: type[Any], name: str, namespace: str, owner: str) -> None:
        super().__init__(self.REASON, message, kind=kind, name=name, namespace=namespace)
        self.owner = owner
