"""How a pod behaves on a simulated node, from its annotations. Pure.

``simulated.steersman.dev/start-after: 2s`` and others; every name and value is checked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from steersman.errors import SteersmanError
from steersman.json_types import JsonObject
from steersman.kinds.core_v1 import Pod
from steersman.objects.times import Duration

PREFIX = "simulated.steersman.dev/"
#: Reasons why a container cannot start; for a missing image a kubelet alternates between two.
PULL_FAILURES = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")
CRASH = "CrashLoopBackOff"
_MAX_EXIT_CODE = 255
_ZERO = timedelta(0)
#: How long a pod works that is meant to finish.
_TASK = timedelta(seconds=1)


class ScriptError(SteersmanError):
    """An annotation that a simulated node does not understand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How a pod behaves."""

    #: How long its containers take to start.
    start_after: timedelta = _ZERO
    #: How long a container takes to become ready after it began.
    ready_after: timedelta = _ZERO
    never_ready: bool = False
    #: How long a container runs before it ends by itself; forever if ``None``.
    run_for: timedelta | None = None
    #: Exit code of a container.
    exit_code: int = 0
    #: Why its image cannot be had; empty if it can.
    pull_failure: str = ""
    #: How long it takes to end after its deletion was asked for.
    stop_after: timedelta = _ZERO

    @classmethod
    def of(cls, pod: Pod) -> Self:
        """Parse a pod's annotations; ``ScriptError`` names the wrong one, and the valid values."""
        ends = (pod.spec.restart_policy or "Always") != "Always"
        script = cls(run_for=_TASK if ends else None)
        instructions = _instructions(pod.annotations)
        for name in instructions:
            if name not in _READERS:
                known = ", ".join(sorted(_READERS))
                raise ScriptError(f"{PREFIX}{name} is unknown: a simulated node supports {known}")
        for name, read in _READERS.items():
            try:
                script = replace(script, **read(instructions[name])) if name in instructions else script
            except ValueError as error:
                raise ScriptError(f"{PREFIX}{name}: {error}") from None
        return script


def _instructions(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(PREFIX): text for name, text in annotations.items() if name.startswith(PREFIX)}


def _span(text: str) -> timedelta:
    span = Duration.parse(text)
    if span < _ZERO:
        raise ValueError(f"{text!r} is negative")
    return span


def _code(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_EXIT_CODE:
        raise ValueError(f"{text!r} is not an exit code (write 0 to {_MAX_EXIT_CODE})")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither 'true' nor 'false'")
    return text == "true"


def _failure(text: str) -> JsonObject:
    """Parse how a pod fails: the reason of a failed image pull, ``CrashLoopBackOff``, or an exit code."""
    if text in PULL_FAILURES:
        return {"pull_failure": text}
    if text == CRASH:
        return {"run_for": _ZERO, "exit_code": 1}
    if text.isdecimal():
        return {"run_for": _TASK, "exit_code": _code(text)}
    raise ValueError(f"{text!r} is not a failure (write {', '.join(PULL_FAILURES)}, {CRASH} or an exit code)")


#: In order of precedence: how long a container runs may be combined with how it fails.
_READERS: dict[str, Callable[[str], JsonObject]] = {
    "start-after": lambda text: {"start_after": _span(text)},
    "ready-after": lambda text: {"ready_after": _span(text)},
    "never-ready": lambda text: {"never_ready": _flag(text)},
    "fail": _failure,
    "run-for": lambda text: {"run_for": _span(text)},
    "stop-after": lambda text: {"stop_after": _span(text)},
}
