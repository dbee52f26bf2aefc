"""Runs scenarios on both servers and compares; a scenario with a difference is shortened as far as possible."""

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
from tests.contract.difference.scenario import DEFINITIONS, Scenario
from tests.contract.ignored import REASONS
from tests.contract.renaming import Renaming


@dataclass(slots=True)
class Difference:
    """An operation of a scenario that the servers answer differently."""

    scenario: Scenario
    position: int
    texts: list[str]
    real: Answer
    embedded: Answer

    @property
    def operation(self) -> Operation:
        """The operation that showed the difference."""
        return self.scenario.operations[self.position]

    @property
    def shape(self) -> str:
        """The kind of difference, without names and numbers."""
        return re.sub(r"\d+", "#", self.texts[0].partition(":")[0])


@dataclass(slots=True)
class Result:
    """The result of one scenario."""

    differences: list[Difference] = field(default_factory=list)
    #: The reason for each difference that is known and accepted.
    explained: list[str] = field(default_factory=list)
    #: Every exchange with the real server, for a recording.
    exchanges: list[tuple[Operation, Answer]] = field(default_factory=list)


class ScenarioRunner:
    """Runs scenarios on a real server and on fresh embedded ones."""

    def __init__(self, real: Transport, mark: str, *, patience: float = 1.0) -> None:
        self._real = real
        self._mark = mark
        self._patience = patience
        self._count = itertools.count()

    async def play(self, scenario: Scenario) -> Result:
        """Run a scenario until the servers hold different objects; a different error message does not end it."""
        number = next(self._count)
        places = Places(f"n{self._mark}{number}", f"g{self._mark}{number}.dev")
        real = Peer(self._real, places, is_real=True, patience=self._patience)
        embedded = Peer.embedded(places, patience=self._patience)
        renaming = Renaming()
        played = Result()
        try:
            for position, operation in enumerate(scenario.operations):
                wanted, given = await real.play(operation), await embedded.play(operation)
                played.exchanges.append((operation, wanted))
                texts = differences(renaming, operation, wanted, given)
                if texts and (reason := reason_of(operation, texts)):
                    played.explained.append(reason)
                    if (wanted.status < 400) != (given.status < 400):
                        break
                elif texts:
                    played.differences.append(Difference(scenario, position, texts, wanted, given))
                    if operation.method != "GET" and min(wanted.status, given.status) < 400:
                        break
                if operation.serves and operation.method == "POST" and wanted.status >= 300:
                    break
        finally:
            served = [operation.serves for operation in scenario.operations if operation.serves]
            if served:
                await real.clean_up(DEFINITIONS, served[0])
        return played

    async def repeat(self, results: list[Result]) -> list[Difference]:
        """Return the differences that occur again when their scenarios are run one after the other."""
        scenarios = [result.differences[0].scenario for result in results if result.differences]
        return [difference for scenario in scenarios for difference in (await self.play(scenario)).differences]

    async def shorten(self, difference: Difference) -> Difference:
        """Leave out every operation without which the same difference still occurs."""
        scenario = Scenario(difference.scenario.name, difference.scenario.operations[: difference.position + 1])
        best = difference
        size = max(1, len(scenario.operations) // 2)
        while size:
            position = len(scenario.operations) - 1 - size
            while position >= 0:
                kept = scenario.operations[:position] + scenario.operations[position + size :]
                found = next(reversed((await self.play(Scenario(scenario.name, kept))).differences), None)
                if found is not None and found.shape == best.shape and found.position == len(kept) - 1:
                    best, scenario = found, Scenario(scenario.name, kept)
                position -= size
            size //= 2
        return best


def differences(renaming: Renaming, operation: Operation, real: Answer, embedded: Answer) -> list[str]:
    """Return how two answers to one operation differ."""
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
    """Leave out values that differ between servers, such as the estimate of remaining items and bookmarks."""
    if operation.until and isinstance(body, list):
        return [event for event in body if event.get("type") != "BOOKMARK"]
    if isinstance(body, dict) and body.get("kind") == "Status":
        body = _said_alike(body)
    if '"generateName": "g-"' in json.dumps(operation.body):
        return json.loads(re.sub(r"\bg-[a-z0-9]{5}\b", "g-xxxxx", json.dumps(body)))
    return body


def _in_order(match: re.Match[str]) -> str:
    return match[1] + ", ".join(sorted(re.findall(r'unknown field "[^"]*"', match[2])))


#: Texts that a real server does not repeat: pattern and replacement.
_VARYING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    # The error for a rejected JSON or merge patch quotes it in its own spelling and order.
    (re.compile(r'(patch: Invalid value: |^Invalid value: )"\{.*\}"(?=: )', re.DOTALL), r"\1<object>"),
    # Go iterates over a map in random order and stops at the first unknown field.
    (re.compile(r"(typed patch object \([^)]*\)): .*field not declared in schema.*", re.DOTALL), r"\1: <undeclared>"),
    # The precondition is a version of one server, and so is the value it is compared with.
    (re.compile(r"(in the precondition \()\d+(\).* in record \()\d+"), r"\1N\2N"),
    # Unknown fields are listed in the order in which the patched members were written.
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


async def play_all(
    runner: ScenarioRunner, scenarios: Iterator[Scenario], *, operations: int, parallel: int
) -> list[Result]:
    """Run scenarios, some of them in parallel, until there were enough operations or no scenario is left."""
    results: list[Result] = []

    async def work() -> None:
        for scenario in scenarios:
            results.append(await runner.play(scenario))
            if sum(len(one.exchanges) for one in results) >= operations:
                return

    async with asyncio.TaskGroup() as tasks:
        for number in range(parallel):
            tasks.create_task(work(), name=f"scenarios/{number}")
    return results
