"""Waiting for webhooks that admit or convert objects: the verb is run again, with the replies it has by then.

A verb runs without waiting, in one step, so that nothing can change between its read and its write. When it needs a
reply that has not arrived yet it raises `Waits`; the webhook is called, and the verb is run again from the start:

    run 1  ──raises Waits──►  webhook called, reply into ReplayLog.answers
    run 2  ──raises Waits──►  next webhook called …
    run n  commits

Objects may have changed between two runs: then the verb's question differs, no logged reply fits it, and the webhook
is asked again about the current object. So no write is made from an older state than the one that was admitted.
Everything random that a run makes up (uids, names, ports) is logged, so that all runs propose the same object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from steersman.randomness import Randomness

T = TypeVar("T")
#: Calls a webhook and keeps its reply for the next run.
Question = Callable[[], Awaitable[None]]


class Waits(Exception):  # noqa: N818 - control flow, not an error
    """A verb cannot go on before these webhooks have replied."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(f"{len(questions)} questions")
        self.questions = tuple(questions)

    async def answered(self) -> None:
        """Call all webhooks at the same time, and wait for their replies."""
        if len(self.questions) == 1:
            await self.questions[0]()
            return
        async with asyncio.TaskGroup() as tasks:
            for question in self.questions:
                tasks.create_task(_asked(question), name="webhook")


async def _asked(question: Question) -> None:
    await question()


class ReplayLog:
    """The replies and the random values of one request, kept from run to run; both only grow."""

    def __init__(self, source: Randomness) -> None:
        self._source = source
        self._values: dict[str, list[Any]] = {}
        #: Replies of webhooks, by request.
        self.answers: dict[Any, Any] = {}

    def randomness(self) -> Randomness:
        """Return the randomness of one run: the logged values from the first on, then new ones, which are logged."""
        return _ReplayedRandomness(self._source, self._values)


class _ReplayedRandomness(Randomness):
    """Randomness that repeats a log, and extends it.

    Values are logged by method: a second run may ask for more of one, for example for another generated name.
    """

    def __init__(self, source: Randomness, values: dict[str, list[Any]]) -> None:
        super().__init__(0)
        self._source = source
        self._values = values
        self._at: dict[str, int] = {}

    def uid(self) -> str:
        """Return a random (version 4) UUID."""
        return self._next("uid", self._source.uid)

    def suffix(self, length: int = 5) -> str:
        """Return the random end of a generated name."""
        return self._next("suffix", lambda: self._source.suffix(length))

    def between(self, low: float, high: float) -> float:
        """Return a number in [low, high]."""
        return self._next("between", lambda: self._source.between(low, high))

    def jitter(self, seconds: float, factor: float) -> float:
        """Stretch a duration by a random share of up to ``factor``."""
        return self._next("jitter", lambda: self._source.jitter(seconds, factor))

    def _next(self, method: str, make: Callable[[], T]) -> T:
        values = self._values.setdefault(method, [])
        at = self._at.get(method, 0)
        self._at[method] = at + 1
        if at == len(values):
            values.append(make())
        value: T = values[at]
        return value
