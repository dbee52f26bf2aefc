"""Replays recordings made with webhooks; the reviews that the webhooks receive are compared, too."""

import asyncio
import json
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import CallFailed, Reply, Target, WebhookOptions
from steersman.randomness import Randomness
from steersman.transport.in_memory import InMemoryTransport
from tests.contract import hooks
from tests.contract.comparison import Comparison
from tests.contract.recordings import Sequence, Step, builtin_step, read_lines
from tests.contract.replay import ADMIN, Replay, Result

Document = dict[str, Any]


@cache
def recorded_reviews() -> dict[tuple[str, int], list[Document]]:
    """Return the recorded reviews, by sequence and step."""
    return {
        (entry["name"], index): step["reviews"]
        for entry in read_lines("admission")
        for index, step in enumerate(entry["steps"])
    }


@cache
def admission_sequences() -> tuple[Sequence, ...]:
    """Return the sequences that were recorded with webhooks."""
    return tuple(
        Sequence(name=entry["name"], setup=[], steps=[_step(step) for step in entry["steps"]])
        for entry in read_lines("admission")
    )


def _step(step: Document) -> Step:
    made = builtin_step(step)
    made.is_watch, made.seconds = "watch=true" in made.path, 1.0
    if "wrong-uid" in made.path:
        # The error quotes the uid of a review, which is not compared.
        made.varies = ("/message",)
    return made


class AdmissionReplay(Replay):
    """One sequence on a fresh server with the webhooks of the recording."""

    def __init__(self, sequence: Sequence) -> None:
        super().__init__(sequence)
        self.server = ApiServer(
            clock=self._clock,
            randomness=Randomness(7),
            tokens={"admin-token": ADMIN},
            webhooks=WebhookOptions(caller=self._answer),
        )
        self._transport = InMemoryTransport(self.server, clock=self._clock)
        self._asked: list[Document] = []

    async def _answer(self, target: Target, body: bytes, seconds: float) -> Reply:
        del seconds
        parts = urlsplit(target.url)
        if target.address[1] == 1:
            raise CallFailed("dial tcp 127.0.0.1:1: connect: connection refused")
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._asked.append({"path": path, "review": json.loads(body)})
        await asyncio.sleep(0)  # noqa: TID251 - others may run while a webhook thinks
        try:
            status, answer = hooks.answer(path, body)
        except hooks.Hang:
            raise CallFailed("context deadline exceeded") from None
        return Reply(status, answer)

    async def _play(self, step: Step, key: str) -> Result:
        self._asked.clear()
        return await super()._play(step, key)

    def _compare(self, step: Step, result: Result) -> list[str]:
        if self._sequence.name.startswith("conversion"):
            # A real server also converts for its own caches, so the number of calls is not compared.
            return super()._compare(step, result)
        index = self._sequence.steps.index(step)
        wanted = _ordered(recorded_reviews()[self._sequence.name, index])
        comparison = Comparison(self._renaming, one_second=True)
        # Reviews first: answers may quote their uids.
        reviews = [f"reviews{text}" for text in comparison.differences(wanted, _ordered(self._asked))]
        return reviews + super()._compare(step, result)


def _ordered(reviews: list[Document]) -> list[Document]:
    """Return reviews in an order that does not depend on which of several parallel calls came first."""
    return sorted(reviews, key=lambda review: review["path"])
