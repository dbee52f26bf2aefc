"""Writes that runs have in common: the server repeats what they led to, instead of deciding them again.

Up to its fault a run is the undisturbed one, request by request, and often it is that of another plan afterwards. The
scenario and the operator have to go through it again, because a coroutine cannot be copied. The server does not: what a
write led to, a response and at most one event, is stored and sent again, without admission, validation, field ownership
and encoding. Whatever follows from the event, such as a garbage collection, happens as usual.

A write is repeated only if it is the same request at the same time, and if every event before it was the same, so that
the store is. What the server generates, such as uids, is a function of the seed and of the version of the store. So the
result is the one that the server would decide, whichever plans ran before. Requests that wait for a webhook,
definitions and whatever counts against a quota are always decided, as are reads.
"""

from collections.abc import Awaitable
from typing import NamedTuple, TypeAlias

from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.protocol.http import SAFE_METHODS, Exchange, Request, Response
from steersman.simulation.network.exchanges import InterceptedExchange

#: Resources whose writes change more than the store.
_WITH_EFFECTS = frozenset({"customresourcedefinitions.apiextensions.k8s.io", "resourcequotas"})
#: Number of writes that are stored; each takes a few kilobytes.
_MOST_STORED = 10_000
#: Larger than any version: each pair of a seed and a version has its own random numbers.
_MOST_VERSIONS = 1_000_003


#: A write: its time, method, target and body.
_Write: TypeAlias = tuple[float, str, str, bytes]


class _Effect(NamedTuple):
    """What a write led to."""

    headers: dict[str, str]
    #: ``None`` if it changed nothing.
    event: Event | None
    response: Response


class _History:
    """Everything that was written since the beginning of a run, as a node of a tree that all runs share."""

    __slots__ = ("effects", "longer")

    def __init__(self) -> None:
        #: What writes lead to after this history.
        self.effects: dict[_Write, _Effect] = {}
        #: The histories with one more event, by its time, type, resource and content.
        self.longer: dict[tuple[float, str, str, bytes], _History] = {}

    def after(self, event: Event) -> "_History":
        """Return the history with one more event."""
        return self.longer.setdefault((event.time, event.type, event.resource, event.record.raw), _History())


class RepeatingServer(ApiServer):
    """An API server that repeats writes of earlier runs."""

    #: Whether writes are repeated; otherwise all of them are decided.
    is_repeating = True
    #: Number of writes of this run that were repeated.
    repeated = 0
    _seed = 0
    #: The history of this run; ``None`` before the first one.
    _history: _History | None = None
    _stored = 0

    def begin(self, seed: int) -> None:
        """Begin a run from the snapshot, from which all runs begin."""
        if self._history is None:
            self._beginnings: dict[int, _History] = {}
        self._seed, self.repeated = seed, 0
        self._history = self._beginnings.setdefault(seed, _History())
        self.objects.observers.append(self._follow)

    def _follow(self, event: Event) -> None:
        if self._history is not None:
            self._history = self._history.after(event)

    def handle_as(self, user: User | None, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request."""
        history = self._history
        if history is None or not self.is_repeating or request.method in SAFE_METHODS or user is not None:
            return self._decide(user, request, exchange)
        write = (self.clock.monotonic(), request.method, request.target, request.body)
        effect = history.effects.get(write)
        if effect is None or effect.headers != request.headers:
            return self._record(history, write, request, exchange)
        self.repeated += 1
        if effect.event is not None:
            self.objects.repeat(effect.event)
        exchange.respond(effect.response)
        return None

    def _decide(self, user: User | None, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        self.randomness.reseed(self._seed * _MOST_VERSIONS + self.objects.version)
        return super().handle_as(user, request, exchange)

    def _record(self, history: _History, write: _Write, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        events: list[Event] = []
        responses: list[Response] = []

        def respond(response: Response) -> None:
            responses.append(response)
            exchange.respond(response)

        self.objects.observers.append(events.append)
        try:
            work = self._decide(None, request, InterceptedExchange(exchange, respond))
        finally:
            self.objects.observers.remove(events.append)
        if work is None and len(responses) == 1 and self._is_repeatable(request, events):
            self._stored += 1
            history.effects[write] = _Effect(request.headers, events[0] if events else None, responses[0])
        return work

    def _is_repeatable(self, request: Request, events: list[Event]) -> bool:
        if self._stored >= _MOST_STORED or self.objects.store.count("resourcequotas"):
            return False
        if not events:
            return request.method in {"PATCH", "PUT"}
        return len(events) == 1 and events[0].resource not in _WITH_EFFECTS
