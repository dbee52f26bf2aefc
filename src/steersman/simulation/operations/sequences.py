"""`Sequence`: what a user does to one object, step by step, as a value that is written and read as text. Pure.

``Shop {"shelves":1} -> !{"shelves":"x"} -> delete -> {"shelves":2}`` creates a shop, tries a spec that the server
rejects, deletes it, and creates it again. Only the last spec counts for the end.
"""

import re
from collections.abc import Iterable
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct

from steersman.errors import ConfigError
from steersman.json_types import JsonObject

_KIND = re.compile(r"(?P<kind>[A-Za-z0-9]+) (?P<steps>.+)", re.DOTALL)
_ARROW = " -> "


class Set(Struct, frozen=True):
    """Set the spec of the object; create it if there is none."""

    spec: JsonObject


class Reject(Struct, frozen=True):
    """Try a spec that the schema does not allow."""

    spec: JsonObject


class Delete(Struct, frozen=True):
    """Delete the object, and wait until it is gone."""


Step: TypeAlias = Set | Reject | Delete


class OperationSequence(Struct, frozen=True):
    """Steps of one user with one object."""

    kind: str
    steps: tuple[Step, ...]
    #: The template that it was made by, for reports.
    template: str = "given"

    def __str__(self) -> str:
        return f"{self.kind} {_ARROW.join(map(_text_of, self.steps))}"

    @property
    def last(self) -> JsonObject:
        """The spec at the end."""
        return next(step.spec for step in reversed(self.steps) if isinstance(step, Set))

    @property
    def direct(self) -> "OperationSequence":
        """The shortest way to the same spec: to create the object with it."""
        return OperationSequence(self.kind, (Set(self.last),), "created at once")

    def shorter(self) -> Iterable["OperationSequence"]:
        """Yield sequences with one step less and the same end."""
        for place in range(len(self.steps) - 1):
            steps = self.steps[:place] + self.steps[place + 1 :]
            if not isinstance(steps[0], Delete | Reject):
                yield OperationSequence(self.kind, steps, self.template)


def parse_sequence(text: str) -> OperationSequence:
    """Parse a sequence as ``str(sequence)`` writes it."""
    found = _KIND.fullmatch(text.strip())
    steps = _parse_steps(found["steps"]) if found is not None else ()
    if found is None or not steps or not isinstance(steps[0], Set) or not isinstance(steps[-1], Set):
        raise ConfigError(
            f"{text!r} is not a sequence of operations that begins and ends with a spec: write it as "
            'Kind {"replicas":1} -> delete -> {"replicas":2}'
        )
    return OperationSequence(found["kind"], steps)


def _parse_steps(text: str) -> tuple[Step, ...]:
    """Return the steps; none if one of them cannot be read."""
    try:
        return tuple(_parse_step(part.strip()) for part in text.split(_ARROW))
    except msgspec.MsgspecError:
        return ()


def _parse_step(text: str) -> Step:
    if text == "delete":
        return Delete()
    spec = msgspec.json.decode(text.removeprefix("!"), type=dict[str, object])
    return Reject(spec) if text.startswith("!") else Set(spec)


def _text_of(step: Step) -> str:
    match step:
        case Set(spec):
            return _json(spec)
        case Reject(spec):
            return f"!{_json(spec)}"
        case Delete():
            return "delete"
        case _:
            assert_never(step)


def _json(spec: JsonObject) -> str:
    return msgspec.json.encode(spec, order="sorted").decode()
