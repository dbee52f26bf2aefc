"""Webhook calls of the API server to the operator: counted, and disturbed as planned.

Calls for admission and for conversion are steps of one sort, whether a user or the operator caused them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from steersman.protocol.http import App, Exchange, Request, Response
from steersman.simulation.faults.recording import CallStep
from steersman.simulation.network.connection import Network
from steersman.simulation.network.exchanges import InterceptedExchange, failure

_NOT_A_PATCH = "bm90IGEgcGF0Y2g="


@dataclass(frozen=True, slots=True)
class SimulatedWebhooks:
    """Stands between the API server and the webhooks of one instance; an `App`."""

    network: Network
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a call on, or let the planned fault happen instead."""
        recording = self.network.recording
        number = len(recording.calls) + 1
        recording.calls.append(CallStep(number, request.target.partition("?")[0]))
        self.network.trace(f"webhook {request.target}")
        fault = self.network.plan.at("call", number)
        if fault is None:
            return self.app.handle(request, exchange)
        self.network.strikes(fault)
        match fault.kind:
            case "webhook-down":
                exchange.reset()
            case "webhook-silent":
                pass
            case "webhook-error":
                exchange.respond(failure(500, "InternalError", "injected by the simulation"))
            case kind:
                change = _CHANGES[kind]
                return self.app.handle(
                    request,
                    InterceptedExchange(exchange, lambda response: exchange.respond(_changed(response, change))),
                )
        return None


def _changed(response: Response, change: Callable[[dict[str, object]], None]) -> Response:
    """Return the answer of a webhook with another content."""
    review = msgspec.json.decode(response.body)
    change(review["response"])
    headers = [(name, value) for name, value in response.headers if name.lower() != "content-length"]
    return Response(response.status, headers, msgspec.json.encode(review))


def _of_another_request(answer: dict[str, object]) -> None:
    answer["uid"] = "00000000-0000-0000-0000-000000000000"


def _with_garbage(answer: dict[str, object]) -> None:
    if "convertedObjects" in answer:
        answer["convertedObjects"] = []
    else:
        answer |= {"patchType": "JSONPatch", "patch": _NOT_A_PATCH}


_CHANGES: dict[str, Callable[[dict[str, object]], None]] = {
    "webhook-wrong-uid": _of_another_request,
    "webhook-garbage": _with_garbage,
}
