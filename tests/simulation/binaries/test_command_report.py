"""What the report of a simulated program shows beside failures."""

from steersman.simulation.binaries.command_report import CommandReport
from steersman.simulation.faults.plans import Plan, parse_plan
from steersman.simulation.faults.recording import Recording
from steersman.simulation.oracles.judge import Reference
from steersman.simulation.runs.run import Outcome


def report() -> CommandReport:
    """Return the report of one plan that passed."""
    reference = Reference(Outcome(Plan(), Recording(), []), {})
    return CommandReport("rollout", 0, reference, tried=[parse_plan("crash-after@write:1")], seconds=12.3)


def test_the_summary_has_no_seed() -> None:
    """In real time nothing depends on a seed, and plans take seconds."""
    assert report().summary() == "rollout: 1 plans passed in 12 s"


def test_what_was_not_tried_is_listed_with_the_reason() -> None:
    """A report without failures is meaningful only with the list of faults that were not tried."""
    found = report()
    found.has_stale_lists = False
    found.unsteady = [parse_plan("conflict@write:2")]
    table = found.table()
    assert "crash-after          F1        1      0" in table
    assert "not possible with a program: crash-at-await, no-response, read-silent, recreated" in table
    assert "skipped stale-restart: no list of the program" in table
    assert "failed once and passed when run again: conflict@write:2" in table
