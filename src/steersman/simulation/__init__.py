"""Every fault at every step of a scenario, with oracles.

Start with ``simulate`` in ``simulator.py``. ``faults`` enumerates plans over a recorded run, ``runs`` carries one out,
``network`` is where faults strike, ``oracles`` judge the end, ``reports`` explain it. ``operations`` are scenarios that
are generated from the schema of a kind, ``binaries`` simulates programs in other languages.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.simulation.event_loop import NotDeterministic, Stuck
    from steersman.simulation.invariants import Invariant, always
    from steersman.simulation.operations.report import OperationsReport
    from steersman.simulation.operations.simulator import simulate_operations
    from steersman.simulation.reports.report import Report
    from steersman.simulation.simulator import simulate

__all__ = [
    "Invariant",
    "NotDeterministic",
    "OperationsReport",
    "Report",
    "Stuck",
    "always",
    "simulate",
    "simulate_operations",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.simulation.event_loop": ("NotDeterministic", "Stuck"),
        "steersman.simulation.invariants": ("Invariant", "always"),
        "steersman.simulation.operations.report": ("OperationsReport",),
        "steersman.simulation.operations.simulator": ("simulate_operations",),
        "steersman.simulation.reports.report": ("Report",),
        "steersman.simulation.simulator": ("simulate",),
    },
)
