"""Two replicas of an operator under a hundred thousand seeds: writes by a deposed leader, of which there must be none.

First the rules of the lease alone, then the real elector with its requests, which takes ten times as long for each run.
``RUNS=1000 FULL_RUNS=100 python -m bench two_replicas`` runs fewer, ``FIRST=50000`` begins with another seed. There is
one process for each core.
"""

import logging
import os
from collections.abc import Callable
from multiprocessing import get_context
from time import perf_counter
from typing import NamedTuple

from steersman.simulation.runs.process_settings import rare_garbage_collection
from steersman.simulation.runs.workers import available_cores
from tests.simulation.lease_model import play
from tests.simulation.lease_rules import play_rules

_BLOCK = 500


class _Seen(NamedTuple):
    """What the servers of some runs have seen."""

    runs: int = 0
    leaders: int = 0
    writes: int = 0
    deposed: tuple[str, ...] = ()


def _rules(first: int) -> _Seen:
    seen = [play_rules(seed) for seed in range(first, first + _BLOCK)]
    deposed = tuple(f"seed {one.seed}: {text}" for one in seen for text in one.deposed)
    return _Seen(_BLOCK, sum(one.leaders for one in seen), sum(one.writes for one in seen), deposed)


def _elector(first: int) -> _Seen:
    logging.getLogger("steersman").setLevel(logging.CRITICAL + 1)
    with rare_garbage_collection():
        seen = {seed: play(seed) for seed in range(first, first + _BLOCK)}
    deposed = tuple(f"seed {seed}: {text}" for seed, one in seen.items() for text in one.deposed)
    return _Seen(
        _BLOCK, sum(len(one.leaders) for one in seen.values()), sum(one.writes for one in seen.values()), deposed
    )


def _run(name: str, block: Callable[[int], _Seen], runs: int) -> None:
    first, begin, total = int(os.environ.get("FIRST", "0")), perf_counter(), _Seen()
    with get_context("spawn").Pool(available_cores()) as pool:
        for seen in pool.imap_unordered(block, range(first, first + runs, _BLOCK)):
            total = _Seen(*(one + other for one, other in zip(total, seen, strict=True)))
            for text in seen.deposed:
                print(text, flush=True)
    print(
        f"{name}: {total.runs} runs, {total.leaders} leaders, {total.writes} writes, {len(total.deposed)} by a deposed "
        f"leader, {perf_counter() - begin:.0f} s",
        flush=True,
    )


def main() -> None:
    """Print how many runs, leaders and writes there were, and every write by a deposed leader."""
    _run("rules", _rules, int(os.environ.get("RUNS", "100000")))
    _run("elector", _elector, int(os.environ.get("FULL_RUNS", "100000")))


if __name__ == "__main__":
    main()
