"""Replicas of a sharded operator under a hundred thousand seeds: there must be no wrong write and no forgotten shard.

``RUNS=1000 python -m bench shards`` runs fewer, ``FIRST=50000`` begins with another seed. There is one process for each
core.
"""

import os
from multiprocessing import get_context
from time import perf_counter

from steersman.simulation.workers import available_cores

from tests.simulation.shard_rules import play_seeds

_BLOCK = 250


def _block(first: int) -> tuple[int, int, list[str]]:
    return play_seeds(iter(range(first, first + _BLOCK)))


def main() -> None:
    """Print how many runs, writes and moves there were, and everything that was wrong."""
    first, runs = int(os.environ.get("FIRST", "0")), int(os.environ.get("RUNS", "100000"))
    begin, writes, moves, wrong = perf_counter(), 0, 0, 0
    with get_context("spawn").Pool(available_cores()) as pool:
        for some, moved, texts in pool.imap_unordered(_block, range(first, first + runs, _BLOCK)):
            writes, moves, wrong = writes + some, moves + moved, wrong + len(texts)
            for text in texts:
                print(text, flush=True)
    print(f"{runs} runs, {writes} writes, {moves} moves, {wrong} wrong, {perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
