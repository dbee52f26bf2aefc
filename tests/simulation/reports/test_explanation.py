"""A failure is explained by the operator's own steps."""

import pytest

from steersman.simulation.faults.plans import Plan, parse_plan
from steersman.simulation.faults.recording import EventStep, Recording, RestStep, WriteStep
from steersman.simulation.oracles.judge import Finding, Reference
from steersman.simulation.reports.explanation import explain
from steersman.simulation.runs.run import Outcome

PODS = "/api/v1/pods"
RECORDED = Recording(
    writes=[WriteStep(1, 1, "POST", PODS, 0.0), WriteStep(2, 1, "DELETE", f"{PODS}/a", 0.0)],
    events=[EventStep(number, 1, PODS, "MODIFIED", "default/a", str(number + 4)) for number in (1, 2, 3)],
    rests=[RestStep(1, 1, 2, 6), RestStep(2, 2, 3, 7)],
    watched={PODS: "4"},
)


def explained(plan: str, *writes: WriteStep) -> str:
    """Explain a plan, of whose run only the writes are known."""
    reference = Reference(Outcome(Plan(), RECORDED, []), {})
    parsed = parse_plan(plan)
    outcome = Outcome(parsed, Recording(writes=list(writes)), list(parsed.faults))
    return explain(reference, parsed, [Finding("O1", "the cluster ends differently")], outcome)


def test_a_crash_names_its_write_and_what_it_led_to() -> None:
    """Which write was the last, which one came twice, and which never came."""
    text = explained("crash-after@write:1", RECORDED.writes[0], WriteStep(2, 2, "POST", PODS, 0.0))
    assert text.splitlines() == [
        "write 1 of 2, POST /api/v1/pods: the operator crashes after the write, before its response",
        "last write of the crashed instance: POST /api/v1/pods",
        "writes that only happen with the fault: POST /api/v1/pods",
        "writes that never happen with the fault: DELETE /api/v1/pods/a",
        "O1: the cluster ends differently",
    ]


@pytest.mark.parametrize(
    ("version", "state", "unseen"),
    [
        ("4", "as before the scenario", "MODIFIED pods default/a, MODIFIED pods default/a"),
        ("5", "as after MODIFIED pods default/a (version 5)", "MODIFIED pods default/a"),
    ],
)
def test_a_stale_read_names_the_state_and_what_is_missing_in_it(version: str, state: str, unseen: str) -> None:
    """Later events were not visible in that state."""
    text = explained(f"stale-restart@rest:1,{PODS}@{version}", *RECORDED.writes)
    assert f"stale read: {PODS} {state}; unseen: {unseen}\n" in text


def test_unobserved_events_are_listed() -> None:
    """The states between them are what the operator relied on."""
    text = explained("events-unobserved@event:1..1", *RECORDED.writes)
    assert "never seen: MODIFIED pods default/a, MODIFIED pods default/a\n" in text
