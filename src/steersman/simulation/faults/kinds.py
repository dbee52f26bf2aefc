"""The catalogue of faults: every kind has a name, the place where it strikes, and a sentence.

A place is a step of the recorded run: the nth write of the operator, its nth read, the nth event that a watch delivers
to it, the nth call of one of its webhooks, the nth await point of its code, or the nth time that the scenario waits
until everything is at rest. Which oracles apply depends on the kind: a fault that shows the operator an old state may
cost updates, one that only loses an answer may not.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

Place: TypeAlias = Literal["write", "read", "event", "call", "await", "rest", "seed"]
#: Writes that the operator may repeat because of the fault: an old state that it sees may cost updates, and for an
#: object that was deleted and created again everything is done again.
Repeats: TypeAlias = Literal["nothing", "updates", "everything"]


class FaultKind(Struct, frozen=True, kw_only=True):
    """One way in which the world misbehaves."""

    name: str
    #: Its number in the fault matrix, such as ``F1``.
    number: str
    place: Place
    text: str
    #: What the operator may do more often than without the fault.
    repeats: Repeats = "nothing"
    #: Whether only an API server fails like this; the same status of another service is an ordinary response.
    is_of_api_server: bool = False
    #: Whether two replicas with leader election are needed.
    replicas: int = 1
    #: Why it is not tried unless asked for by its name; empty for all others.
    exotic: str = ""


_OF_API_SERVER = frozenset({"conflict", "competing-write", "forbidden", "unauthorized", "read-unauthorized"})


def _kind(
    name: str, number: str, place: Place, text: str, *, repeats: Repeats = "nothing", replicas: int = 1
) -> FaultKind:
    return FaultKind(
        name=name,
        number=number,
        place=place,
        text=text,
        repeats=repeats,
        is_of_api_server=name in _OF_API_SERVER,
        replicas=replicas,
    )


_ALL = (
    _kind("crash-before", "F1", "write", "the operator crashes right before the write is carried out"),
    _kind("crash-after", "F1", "write", "the operator crashes after the write, before its response"),
    _kind("crash-at-event", "F2", "event", "the operator crashes right before the event arrives"),
    _kind("crash-at-await", "F2", "await", "the operator crashes while its code waits"),
    _kind("conflict", "F3", "write", "the write is refused with 409 Conflict"),
    _kind(
        "competing-write",
        "F3",
        "write",
        "another client labels the object right before the write",
        repeats="updates",
    ),
    _kind("too-many-requests", "F4", "write", "the write is refused with 429 and Retry-After"),
    _kind("forbidden", "F4", "write", "the write is refused once with 403"),
    _kind("internal-error", "F4", "write", "the write is refused with 500"),
    _kind("unavailable", "F4", "write", "the write is refused with 503"),
    _kind("gateway-timeout", "F4", "write", "the write is carried out, and answered with 504"),
    _kind("request-lost", "F4", "write", "the connection breaks before the server sees the write"),
    _kind("response-lost", "F4", "write", "the write is carried out, and the connection breaks before the response"),
    _kind("no-response", "F4", "write", "the write is never answered, nor carried out"),
    _kind("slow-response", "F4", "write", "the write is carried out, and its response comes 20 s late"),
    _kind("read-error", "F4", "read", "the read is answered with 500"),
    _kind("read-lost", "F4", "read", "the connection of the read breaks"),
    _kind("read-throttled", "F4", "read", "the read is refused with 429 and Retry-After"),
    _kind("read-silent", "F4", "read", "the read is never answered"),
    _kind("read-unauthorized", "F13", "read", "the token has expired: the read is refused once with 401"),
    _kind("unauthorized", "F13", "write", "the token has expired: the write is refused once with 401"),
    _kind("watch-reset", "F5", "event", "the watch breaks right before the event"),
    _kind("watch-closed", "F5", "event", "the server ends the watch right before the event"),
    _kind("watch-torn", "F5", "event", "the watch breaks in the middle of the event"),
    _kind("watch-expired", "F5", "event", "the watch ends with 410 Expired instead of the event", repeats="updates"),
    # An informer waits before it tries again, and other watches go on: it shows an old state meanwhile.
    _kind("watch-error", "F5", "event", "the watch ends with 500 instead of the event", repeats="updates"),
    _kind("watch-throttled", "F5", "event", "the watch ends with 429 instead of the event", repeats="updates"),
    _kind("watch-silent", "F5", "event", "the watch stays open and delivers nothing any more", repeats="updates"),
    _kind("event-duplicated", "F6", "event", "the event arrives twice"),
    _kind(
        "event-delayed",
        "F6",
        "event",
        "the event and all later ones of its watch arrive only when the operator is idle",
        repeats="updates",
    ),
    _kind(
        "events-unobserved",
        "F6",
        "event",
        "the watch falls behind from this event on, and the history is compacted before it catches up",
        repeats="updates",
    ),
    FaultKind(
        name="stale-restart",
        number="F7",
        place="rest",
        text="the operator restarts and reads one resource from a replica that lags behind",
        repeats="updates",
        exotic="informers start with a consistent list, which API servers since 1.31 never answer with an old state",
    ),
    _kind(
        "recreated",
        "F8",
        "write",
        "users delete their objects right before the write, and create them again with the same names",
        repeats="everything",
    ),
    _kind(
        "recreated-at-event",
        "F8",
        "event",
        "users delete their objects at the event, and create them again with the same names",
        repeats="everything",
    ),
    _kind("webhook-down", "F12", "call", "the webhook cannot be reached"),
    _kind("webhook-silent", "F12", "call", "the webhook never answers"),
    _kind("webhook-error", "F12", "call", "the webhook answers with 500"),
    _kind("webhook-wrong-uid", "F12", "call", "the webhook answers for another request"),
    _kind("webhook-garbage", "F12", "call", "the webhook answers with something that is not a patch, nor an object"),
    _kind("restart", "F14", "rest", "the operator is killed and started again while everything is at rest"),
    _kind(
        "drain-timeout", "F14", "await", "the operator is asked to stop, and the code that waits is cancelled at once"
    ),
    _kind("shutdown", "F14", "write", "the operator is asked to stop at the write, and started again"),
    _kind("clock-ahead", "F10", "write", "the operator's wall clock jumps ahead by one hour"),
    _kind("clock-behind", "F10", "write", "the operator's wall clock jumps back by one hour"),
    _kind("stall", "F10", "write", "the operator's process stands still for 60 s before the write"),
    _kind("order", "F9", "seed", "requests and events take a random number of turns to arrive"),
    _kind(
        "leader-cut-off",
        "F11",
        "write",
        "the leader of two replicas loses its network at the write, for 60 s",
        repeats="updates",
        replicas=2,
    ),
    _kind(
        "leader-crash",
        "F11",
        "write",
        "the leader of two replicas crashes after the write, and the other one takes over",
        repeats="updates",
        replicas=2,
    ),
)

#: Every kind by its name, in the order of the report.
KINDS = {kind.name: kind for kind in _ALL}

#: Faults of the matrix that are not injected, and why; reports list them.
SKIPPED = {
    "F2": "await points at which a crash leaves the same as another one (same time, same state of the cluster); the "
    "fourth and later waits of a line while nothing changes",
    "F4": "404, AlreadyExists and 422 for a valid write: a server that answers so is wrong, not faulty; a response "
    "that is cut off or drips: to an operator it is lost or late",
    "F7": "a version too large for a lagging server: the informer waits and asks again, before any operator sees it",
    "F9": "another number of workers: the operator's own one is used",
    "F10": "a clock that runs too fast or too slow: durations are measured by the monotonic clock",
    "F11": "a lease that is deleted or edited by hand: that takes the lease from its holder on purpose",
    "F12": "a conversion that loses a field: that is the author's function; steersman.testing checks its round trip",
    "F13": "a CA that rotates, a credential plugin that hangs: both are below the transport that is simulated",
    "F14": "a second SIGTERM: it ends the process at once, as a crash does",
}
