"""Tools for testing operators: an embedded cluster, a fake clock, faults and crashes.

Start with `cluster`: `Cluster` is an API server in this process with a client, and runs operators against it. `faults`
injects failures between operator and server, `permissions` compares what operators do with their RBAC roles, `failures`
fails a test whose reconciles fail. `fake_clock` and `eventually` replace sleeping.

`crashes/` checks that an operator survives a crash at any of its writes. `served_cluster` serves a cluster on a port,
`transcripts` runs the console blocks of a README, `replays` runs a recorded reconcile again, and `pytest_plugin`
provides the fixtures.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.testing.cluster import Cluster
    from steersman.testing.crashes.crash_switch import Crash, CrashAtEachWrite, CrashSwitch, Moment
    from steersman.testing.crashes.process_crashes import PROCESS_CRASHES_VARIABLE, survive_process_crashes
    from steersman.testing.crashes.scenarios import (
        Scenario,
        crash_once,
        crash_once_at_each_write,
        run_until_crash,
        survive_crashes,
    )
    from steersman.testing.fake_clock import FakeClock
    from steersman.testing.faults import Before, Lose, Refuse, Reset
    from steersman.testing.projects import apply_samples, replay_readme, without_descriptions
    from steersman.testing.replays import Replay, replay_reconcile
    from steersman.testing.round_trips import assert_round_trips
    from steersman.testing.served_cluster import served
    from steersman.testing.transcripts import console_blocks, replay

__all__ = [
    "PROCESS_CRASHES_VARIABLE",
    "Before",
    "Cluster",
    "Crash",
    "CrashAtEachWrite",
    "CrashSwitch",
    "FakeClock",
    "Lose",
    "Moment",
    "Refuse",
    "Replay",
    "Reset",
    "Scenario",
    "apply_samples",
    "assert_round_trips",
    "console_blocks",
    "crash_once",
    "crash_once_at_each_write",
    "replay",
    "replay_readme",
    "replay_reconcile",
    "run_until_crash",
    "served",
    "survive_crashes",
    "survive_process_crashes",
    "without_descriptions",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.testing.cluster": ("Cluster",),
        "steersman.testing.crashes.scenarios": (
            "Scenario",
            "crash_once",
            "crash_once_at_each_write",
            "run_until_crash",
            "survive_crashes",
        ),
        "steersman.testing.fake_clock": ("FakeClock",),
        "steersman.testing.faults": ("Before", "Lose", "Refuse", "Reset"),
        "steersman.testing.crashes.crash_switch": ("Crash", "CrashAtEachWrite", "CrashSwitch", "Moment"),
        "steersman.testing.crashes.process_crashes": ("PROCESS_CRASHES_VARIABLE", "survive_process_crashes"),
        "steersman.testing.projects": ("apply_samples", "replay_readme", "without_descriptions"),
        "steersman.testing.replays": ("Replay", "replay_reconcile"),
        "steersman.testing.round_trips": ("assert_round_trips",),
        "steersman.testing.served_cluster": ("served",),
        "steersman.testing.transcripts": ("console_blocks", "replay"),
    },
)
