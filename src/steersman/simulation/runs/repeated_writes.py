"""The beginning that all runs have in common: the server repeats its writes, instead of deciding them again.

Until the fault strikes, a run is the undisturbed one, request by request. The scenario and the operator have to go
through it again, because a coroutine cannot be copied. The server does not: what a write led to in the undisturbed run,
one event and a response, is stored and sent again, without admission, validation, field ownership and encoding. That
is a third of the time of a plan. Whatever follows from the event, such as a garbage collection, happens as usual.

A write is repeated only if it is the same request at the same time on the same version of the store, and only if the
event is all that it led to. Requests that wait for a webhook, definitions and whatever counts against a quota are
decided again, as are reads.
"""

from collections.abc import Awaitable
from typing import Literal, NamedTuple, TypeAlias

from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.protocol.http import SAFE_METHODS, Exchange, Request, Response
from steersman.simulation.network.exchanges import InterceptedExchange

#: Resources whose writes change more than the store.
_WITH_EFFECTS = frozenset({"customresourcedefinitions.apiextensions.k8s.io", "resourcequotas"})

_Mode: TypeAlias = Literal["recording", "repeating", "deciding"]


class _Effect(NamedTuple):
    """What a write led to."""

    event: Event
    response: Response
    randomness: object


class _Write(NamedTuple):
    """A write of the undisturbed run, and the moment at which it came: the time and the version of the store."""

    moment: tuple[float, int]
    text: tuple[str, str, dict[str, str], bytes]
    effect: _Effect | None


def _text(request: Request) -> tuple[str, str, dict[str, str], bytes]:
    """Return all of a request that a server sees."""
    return request.method, request.target, request.headers, request.body


class RepeatingServer(ApiServer):
    """An API server that repeats the writes of the undisturbed run until a fault strikes."""

    _mode: _Mode = "deciding"
    _seed: int | None = None
    _writes: list[_Write]
    _next = 0
    #: Number of writes of this run that were repeated.
    repeated = 0

    def begin(self, seed: int, *, is_undisturbed: bool) -> None:
        """Begin a run: record the first undisturbed one, and repeat its writes in others with the same seed."""
        self._next = self.repeated = 0
        if self._seed is None and is_undisturbed:
            self._seed, self._writes, self._mode = seed, [], "recording"
        else:
            self._mode = "repeating" if seed == self._seed else "deciding"

    def decide(self) -> None:
        """Decide every further write of this run: it differs from the undisturbed one from here on."""
        if self._mode == "repeating":
            self._mode = "deciding"

    def handle_as(self, user: User | None, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request."""
        if self._mode == "deciding" or request.method in SAFE_METHODS or user is not None:
            return super().handle_as(user, request, exchange)
        if self._mode == "recording":
            return self._record(request, exchange)
        effect = self._recorded_effect(request)
        if effect is None:
            return super().handle_as(user, request, exchange)
        self.repeated += 1
        self.objects.repeat(effect.event)
        self.randomness.restore(effect.randomness)
        exchange.respond(effect.response)
        return None

    def _recorded_effect(self, request: Request) -> _Effect | None:
        """Return what the same write led to; ``None`` if it has to be decided."""
        recorded = self._writes[self._next] if self._next < len(self._writes) else None
        self._next += 1
        if recorded is None or recorded[:2] != (self._moment(), _text(request)):
            self.decide()
            return None
        return recorded.effect

    def _moment(self) -> tuple[float, int]:
        return self.clock.monotonic(), self.objects.version

    def _record(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        moment = self._moment()
        events: list[Event] = []
        responses: list[Response] = []

        def respond(response: Response) -> None:
            responses.append(response)
            exchange.respond(response)

        self.objects.observers.append(events.append)
        place = len(self._writes)
        self._writes.append(_Write(moment, _text(request), None))
        try:
            work = super().handle_as(None, request, InterceptedExchange(exchange, respond))
        finally:
            self.objects.observers.remove(events.append)
        if work is None and len(events) == len(responses) == 1 and not self._has_effects(events[0]):
            effect = _Effect(events[0], responses[0], self.randomness.state())
            self._writes[place] = _Write(moment, _text(request), effect)
        return work

    def _has_effects(self, event: Event) -> bool:
        return event.resource in _WITH_EFFECTS or bool(self.objects.store.count("resourcequotas"))
