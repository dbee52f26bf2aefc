"""What authors of operators test with."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.testing.cluster import Cluster
    from steersman.testing.crashes import Story, dying_once, dying_once_at_each_write, run_until_crash, survive_crashes
    from steersman.testing.fake_clock import FakeClock
    from steersman.testing.faults import Before, Lose, Refuse, Reset
    from steersman.testing.fuse import Crash, EachOnce, Fuse, Moment
    from steersman.testing.kills import VARIABLE, survive_kills
    from steersman.testing.projects import apply_samples, replay_readme, without_descriptions
    from steersman.testing.round_trips import assert_round_trips
    from steersman.testing.served_cluster import served
    from steersman.testing.transcripts import console_blocks, replay

__all__ = [
    "VARIABLE",
    "Before",
    "Cluster",
    "Crash",
    "EachOnce",
    "FakeClock",
    "Fuse",
    "Lose",
    "Moment",
    "Refuse",
    "Reset",
    "Story",
    "apply_samples",
    "assert_round_trips",
    "console_blocks",
    "dying_once",
    "dying_once_at_each_write",
    "replay",
    "replay_readme",
    "run_until_crash",
    "served",
    "survive_crashes",
    "survive_kills",
    "without_descriptions",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.testing.cluster": ("Cluster",),
        "steersman.testing.crashes": (
            "Story",
            "dying_once",
            "dying_once_at_each_write",
            "run_until_crash",
            "survive_crashes",
        ),
        "steersman.testing.fake_clock": ("FakeClock",),
        "steersman.testing.faults": ("Before", "Lose", "Refuse", "Reset"),
        "steersman.testing.fuse": ("Crash", "EachOnce", "Fuse", "Moment"),
        "steersman.testing.kills": ("VARIABLE", "survive_kills"),
        "steersman.testing.projects": ("apply_samples", "replay_readme", "without_descriptions"),
        "steersman.testing.round_trips": ("assert_round_trips",),
        "steersman.testing.served_cluster": ("served",),
        "steersman.testing.transcripts": ("console_blocks", "replay"),
    },
)
