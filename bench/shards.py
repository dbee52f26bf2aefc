"""Replicas of a sharded operator under a hundred thousand seeds: there must be no wrong write and no forgotten shard.

``RUNS=1000 python -m bench shards`` runs fewer, ``FIRST=50000`` begins with another seed. There is one process for each
core.
"""

import os
from multiprocessing import get_context
from time import perf_counter

from steersman.simulation.runs.process_settings import rare_garbage_collection
from steersman.simulation.runs.workers import available_cores
from tests.simulation.shard_rules import Played, play_seeds

_BLOCK = 250


def _block(first: int) -> Played:
    with rare_garbage_collection():
        return play_seeds(range(first, first + _BLOCK))


def main() -> None:
    """Print how many runs, writes and moves there were, and everything that was wrong."""
    first, runs = int(os.environ.get("FIRST", "0")), int(os.environ.get("RUNS", "100000"))
    begin, total = perf_counter(), Played()
    with get_context("spawn").Pool(available_cores()) as pool:
        for seen in pool.imap_unordered(_block, range(first, first + runs, _BLOCK)):
            total = total.plus(seen)
            for text in seen.wrong:
                print(text, flush=True)
    print(
        f"{total.runs} runs, {total.moves} moves of shards, {total.writes} writes: {len(total.unfenced)} unfenced, "
        f"{len(total.shared)} shards with two workers, {len(total.forgotten)} forgotten, "
        f"{perf_counter() - begin:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
