"""Two replicas of an operator under a hundred thousand seeds: writes by a deposed leader, of which there must be none.

``RUNS=1000 python -m bench two_replicas`` runs fewer; ``FIRST=50000`` begins with another seed. There is one process
for each core.
"""

import logging
import os
from multiprocessing import get_context
from time import perf_counter

from steersman.simulation.process_settings import rare_garbage_collection
from steersman.simulation.workers import available_cores
from tests.simulation.lease_model import play

_BLOCK = 500


def _block(first: int) -> tuple[int, int, int, list[str]]:
    """Run the seeds of a block; return writes, changes of the leader, and what went wrong."""
    logging.getLogger("steersman").setLevel(logging.CRITICAL + 1)
    writes, leaders, deposed = 0, 0, []
    with rare_garbage_collection():
        for seed in range(first, first + _BLOCK):
            seen = play(seed)
            writes += seen.writes
            leaders += len(seen.leaders)
            deposed += [f"seed {seed}: {text}" for text in seen.deposed]
    return writes, leaders, len(deposed), deposed


def main() -> None:
    """Print how many runs, writes and leaders there were, and every write by a deposed leader."""
    first, runs = int(os.environ.get("FIRST", "0")), int(os.environ.get("RUNS", "100000"))
    begin, done, writes, leaders, deposed = perf_counter(), 0, 0, 0, 0
    with get_context("spawn").Pool(available_cores()) as pool:
        for result in pool.imap_unordered(_block, range(first, first + runs, _BLOCK)):
            done, writes, leaders, deposed = done + _BLOCK, writes + result[0], leaders + result[1], deposed + result[2]
            for text in result[3]:
                print(text, flush=True)
            print(
                f"{done} of {runs} runs, {leaders} leaders, {writes} writes, {deposed} by a deposed leader, "
                f"{perf_counter() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
