"""Plans a second of `simulate`, on one core, for an operator that makes ten writes.

Two forms: an operator that a function creates, with two replicas among its faults, and one that is a global of a module
and is imported again for each life. CPU seconds are counted, so other work on the machine has little effect.
"""

from time import process_time

from bench._results import Results
from bench.ten_writes import make_operator, rollout
from steersman.simulation import simulate
from steersman.simulation.runs.instances import OperatorSource

_ROUNDS = 3
_OPERATORS: dict[str, OperatorSource] = {
    "made by a function": make_operator,
    "global of a module": "bench.ten_writes:operator",
}


def main() -> None:
    """Print a table of plans a second."""
    results = Results("simulation", "Simulation of an operator that makes ten writes, every single fault")
    for _ in range(_ROUNDS):
        for name, operator in _OPERATORS.items():
            begin = process_time()
            report = simulate(operator, rollout)
            taken = process_time() - begin
            report.raise_if_failed()
            assert len(report.reference.outcome.recording.writes) == 10
            results.add(name, plans=len(report.tried), plans_per_second=len(report.tried) / taken)
    results.show()


if __name__ == "__main__":
    main()
