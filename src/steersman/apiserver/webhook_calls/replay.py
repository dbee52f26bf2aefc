"""Waiting for somebody outside: webhooks that admit or convert objects.

Verbs run without waiting, in one step. When one needs an answer that is not there yet it raises `Waits`; the question
is asked, and the verb is run again from its beginning, with the answers that it has by now. What it reads may have
changed meanwhile: then it asks again, about what is there now. So no write is ever made from an older state than the
one that was admitted. What a request makes up on its way (uids, names, times) is made up once and kept on its `Tape`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from steersman.randomness import Randomness

T = TypeVar("T")
#: Asks somebody, and remembers the answer for the next run.
Question = Callable[[], Awaitable[None]]


class Waits(Exception):  # noqa: N818 - it is no error
    """A verb cannot go on before these questions are answered."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(f"{len(questions)} questions")
        self.questions = tuple(questions)

    async def answered(self) -> None:
        """Ask all questions at the same time, and wait for the answers."""
        if len(self.questions) == 1:
            await self.questions[0]()
            return
        async with asyncio.TaskGroup() as tasks:
            for question in self.questions:
                tasks.create_task(_asked(question), name="webhook")


async def _asked(question: Question) -> None:
    await question()


@dataclass(slots=True)
class Tape:
    """What one request made up, in order, however often it is run."""

    #: The time of the request, as objects carry it.
    moment: str
    #: By what was asked for: a second run may ask for more of one thing, such as another name.
    values: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    at: dict[str, int] = field(default_factory=dict)


class TapedRandomness(Randomness):
    """Chance that repeats itself while a tape is on."""

    def __init__(self, source: Randomness) -> None:
        super().__init__(0)
        self._source = source
        self._tape: Tape | None = None

    @contextmanager
    def taped(self, tape: Tape) -> Iterator[None]:
        """Repeat what is on the tape inside the block, and record what goes beyond."""
        tape.at.clear()
        self._tape = tape
        try:
            yield
        finally:
            self._tape = None

    def uid(self) -> str:
        """Give a random (version 4) UUID, as the API server gives every object."""
        return self._source.uid() if self._tape is None else self._once("uid", self._source.uid)

    def suffix(self, length: int = 5) -> str:
        """Give the random end of a generated name."""
        return self._once("suffix", lambda: self._source.suffix(length))

    def between(self, low: float, high: float) -> float:
        """Give a number in [low, high]."""
        return self._once("between", lambda: self._source.between(low, high))

    def jitter(self, seconds: float, factor: float) -> float:
        """Stretch a duration by a random share of up to ``factor``."""
        return self._once("jitter", lambda: self._source.jitter(seconds, factor))

    def _once(self, what: str, make: Callable[[], T]) -> T:
        tape = self._tape
        if tape is None:
            return make()
        values = tape.values.setdefault(what, [])
        at = tape.at.get(what, 0)
        tape.at[what] = at + 1
        if at == len(values):
            values.append(make())
        value: T = values[at]
        return value
