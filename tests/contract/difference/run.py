"""Plays stories on both servers and compares; what differs is made as short as it can be."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from steersman.transport.base import Transport
from tests.contract.comparison import Comparison
from tests.contract.difference.explained import reason_of
from tests.contract.difference.operation import Operation, Places
from tests.contract.difference.peers import Answer, Peer
from tests.contract.difference.story import DEFINITIONS, Story
from tests.contract.ignored import REASONS
from tests.contract.renaming import Renaming


@dataclass(slots=True)
class Difference:
    """An operation of a story that the servers answer differently."""

    story: Story
    position: int
    texts: list[str]
    real: Answer
    embedded: Answer

    @property
    def operation(self) -> Operation:
        """The operation that showed it."""
        return self.story.operations[self.position]

    @property
    def shape(self) -> str:
        """What kind of difference it is, without its names and numbers."""
        return re.sub(r"\d+", "#", self.texts[0].partition(":")[0])


@dataclass(slots=True)
class Played:
    """What came of one story."""

    differences: list[Difference] = field(default_factory=list)
    #: Why each difference stays that is known.
    explained: list[str] = field(default_factory=list)
    #: Every exchange with the real server, for a recording.
    exchanges: list[tuple[Operation, Answer]] = field(default_factory=list)


class Theatre:
    """Plays stories on a real server and on fresh embedded ones."""

    def __init__(self, real: Transport, mark: str, *, patience: float = 1.0) -> None:
        self._real = real
        self._mark = mark
        self._patience = patience
        self._count = itertools.count()

    async def play(self, story: Story) -> Played:
        """Play a story until the servers hold different objects; refusals in other words do not end it."""
        number = next(self._count)
        places = Places(f"n{self._mark}{number}", f"g{self._mark}{number}.dev")
        real = Peer(self._real, places, is_real=True, patience=self._patience)
        embedded = Peer.embedded(places, patience=self._patience)
        renaming = Renaming()
        played = Played()
        try:
            for position, operation in enumerate(story.operations):
                wanted, given = await real.play(operation), await embedded.play(operation)
                played.exchanges.append((operation, wanted))
                texts = differences(renaming, operation, wanted, given)
                if texts and (reason := reason_of(operation, texts)):
                    played.explained.append(reason)
                    if (wanted.status < 400) != (given.status < 400):
                        break
                elif texts:
                    played.differences.append(Difference(story, position, texts, wanted, given))
                    if operation.method != "GET" and min(wanted.status, given.status) < 400:
                        break
                if operation.serves and operation.method == "POST" and wanted.status >= 300:
                    break
        finally:
            served = [operation.serves for operation in story.operations if operation.serves]
            if served:
                await real.clean_up(DEFINITIONS, served[0])
        return played

    async def repeat(self, found: list[Played]) -> list[Difference]:
        """Return the differences that show again when their stories are played one after the other."""
        stories = [one.differences[0].story for one in found if one.differences]
        return [difference for story in stories for difference in (await self.play(story)).differences]

    async def shorten(self, difference: Difference) -> Difference:
        """Leave out every operation without which the same difference still shows."""
        story = Story(difference.story.name, difference.story.operations[: difference.position + 1])
        best = difference
        size = max(1, len(story.operations) // 2)
        while size:
            position = len(story.operations) - 1 - size
            while position >= 0:
                kept = story.operations[:position] + story.operations[position + size :]
                found = next(reversed((await self.play(Story(story.name, kept))).differences), None)
                if found is not None and found.shape == best.shape and found.position == len(kept) - 1:
                    best, story = found, Story(story.name, kept)
                position -= size
            size //= 2
        return best


def differences(renaming: Renaming, operation: Operation, real: Answer, embedded: Answer) -> list[str]:
    """Tell how two answers to one operation differ."""
    texts = []
    if real.status != embedded.status:
        texts.append(f"status: {real.status}, here {embedded.status}: {_short(real.body)} / {_short(embedded.body)}")
    if sorted(real.warnings) != sorted(embedded.warnings):
        texts.append(f"warnings: {sorted(real.warnings)}, here {sorted(embedded.warnings)}")
    comparison = Comparison(renaming, one_second=False)
    left, right = (_plain(answer.body, operation) for answer in (real, embedded))
    texts += comparison.differences(left, right)
    return [text for text in texts if not any(re.search(pattern, text) for pattern in REASONS)]


def _plain(body: Any, operation: Operation) -> Any:
    """Leave out what is each server's own: how many items remain is an estimate, bookmarks come when they like."""
    if operation.until and isinstance(body, list):
        return [event for event in body if event.get("type") != "BOOKMARK"]
    if isinstance(body, dict) and body.get("kind") == "Status":
        body = _said_alike(body)
    if '"generateName": "g-"' in json.dumps(operation.body):
        return json.loads(re.sub(r"\bg-[a-z0-9]{5}\b", "g-xxxxx", json.dumps(body)))
    return body


def _in_order(match: re.Match[str]) -> str:
    return match[1] + ", ".join(sorted(re.findall(r'unknown field "[^"]*"', match[2])))


#: Texts that a real server does not give twice: how they look, and what stands for them.
_VARYING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    # A refused JSON or merge patch is quoted in the patch's own spelling and order.
    (re.compile(r'(patch: Invalid value: |^Invalid value: )"\{.*\}"(?=: )', re.DOTALL), r"\1<object>"),
    # Go walks over a map in any order and stops at the first field that it does not know.
    (re.compile(r"(typed patch object \([^)]*\)): .*field not declared in schema.*", re.DOTALL), r"\1: <undeclared>"),
    # The precondition is a number of the one server, and so is what it is compared with.
    (re.compile(r"(in the precondition \()\d+(\).* in record \()\d+"), r"\1N\2N"),
    # Fields that nobody knows are told in the order in which the patched members were written.
    (re.compile(r'(strict decoding error: )((?:unknown field "[^"]*"(?:, )?)+)'), _in_order),
    # Types without a name are numbered by their address.
    (re.compile(r"selfType\d+"), "selfType"),
)


def _said_alike(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _said_alike(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_said_alike(part) for part in value]
    if isinstance(value, str):
        for pattern, instead in _VARYING:
            value = pattern.sub(instead, value)
    return value


def _short(value: Any) -> str:
    text = value.get("message", "") if isinstance(value, dict) and value.get("kind") == "Status" else json.dumps(value)
    return text if len(text) < 500 else f"{text[:500]}…"


async def play_all(theatre: Theatre, stories: Iterator[Story], *, operations: int, beside: int) -> list[Played]:
    """Play stories, some of them side by side, until there were enough operations or there is no story any more."""
    results: list[Played] = []

    async def work() -> None:
        for story in stories:
            results.append(await theatre.play(story))
            if sum(len(one.exchanges) for one in results) >= operations:
                return

    async with asyncio.TaskGroup() as tasks:
        for number in range(beside):
            tasks.create_task(work(), name=f"stories/{number}")
    return results
