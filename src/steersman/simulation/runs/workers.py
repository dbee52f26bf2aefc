"""Worker processes: each tries every nth plan, so that a simulation uses all cores.

Workers are forked after the undisturbed runs, so an operator and a scenario need not be pickled: closures work as well.
A worker reports one line for each plan, and only whether it passed. A plan that did not pass is run again in the
parent, which explains it: runs are deterministic, so it fails there, too.
"""

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import IO, Literal, TypeAlias, get_args

from steersman.simulation.faults.plans import Plan

#: What a worker knows of a plan; ``failed`` also if it could not run it.
Verdict: TypeAlias = Literal["passed", "missed", "failed"]


def available_cores() -> int:
    """Return how many worker processes can run at the same time; 1 where processes cannot be forked safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def try_in_workers(
    plans: Sequence[Plan], jobs: int, attempt: Callable[[Plan], Verdict]
) -> Generator[tuple[Plan, Verdict], None, None]:
    """Yield each plan and what a worker says of it, in the order in which they end; closing it ends the workers."""
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    children = [_fork(range(number, len(plans), jobs), plans, attempt, writing) for number in range(jobs)]
    os.close(writing)
    try:
        with os.fdopen(reading) as lines:
            yield from _results(lines, plans)
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _results(lines: IO[str], plans: Sequence[Plan]) -> Iterator[tuple[Plan, Verdict]]:
    left = dict(enumerate(plans))
    for line in lines:
        number, _, text = line.strip().partition(" ")
        [verdict] = (known for known in get_args(Verdict) if known == text)
        yield left.pop(int(number)), verdict
    # A worker that died tells nothing: its plans are tried in the parent, where the reason shows.
    for plan in left.values():
        yield plan, "failed"


def _fork(numbers: range, plans: Sequence[Plan], attempt: Callable[[Plan], Verdict], writing: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        for number in numbers:
            # A line is short enough for the kernel never to mix it with one of another worker.
            os.write(writing, f"{number} {_attempted(attempt, plans[number])}\n".encode())
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's is flushed, closed or reported a second time


def _attempted(attempt: Callable[[Plan], Verdict], plan: Plan) -> Verdict:
    try:
        return attempt(plan)
    except Exception:  # noqa: BLE001 - the parent meets it again, and raises it
        return "failed"
