"""Plans are generated, formatted and parsed without running anything."""

import pytest

from steersman.errors import ConfigError
from steersman.simulation.faults.kinds import KINDS
from steersman.simulation.faults.plans import (
    Fault,
    Plan,
    View,
    chosen_kinds,
    pairs,
    parse_plan,
    random_walks,
    single_faults,
)
from steersman.simulation.faults.recording import (
    CallStep,
    EventStep,
    ReadStep,
    Recording,
    RestStep,
    WriteStep,
    first_difference,
)

PODS = "/api/v1/pods"


def _event(number: int, path: str, version: str, kind: str = "MODIFIED") -> EventStep:
    return EventStep(number, 1, PODS, kind, path, version)


RECORDING = Recording(
    writes=[WriteStep(1, 1, "POST", PODS, 0.0), WriteStep(2, 1, "PATCH", f"{PODS}/a", 0.0)],
    reads=[ReadStep(1, 1, PODS)],
    events=[_event(1, "default/a", "5", "ADDED"), _event(2, "default/b", "6"), _event(3, "default/a", "7")],
    rests=[RestStep(1, 1, 1, 5), RestStep(2, 2, 3, 7)],
    calls=[CallStep(1, "/validate")],
    watched={PODS: "4"},
)


def _texts(kind: str) -> list[str]:
    return [str(plan) for plan in single_faults(RECORDING, [KINDS[kind]])]


def test_a_fault_is_tried_at_every_step_of_its_place() -> None:
    """Faults are enumerated, not sampled: what was not tried is not known."""
    assert _texts("crash-after") == ["crash-after@write:1", "crash-after@write:2"]
    assert _texts("read-lost") == ["read-lost@read:1"]
    assert _texts("watch-torn") == [f"watch-torn@event:{number}" for number in (1, 2, 3)]
    assert _texts("restart") == ["restart@rest:1", "restart@rest:2"]


def test_another_client_changes_only_objects_that_have_a_name() -> None:
    """Nothing can be changed right before it is created under a generated name."""
    assert _texts("competing-write") == ["competing-write@write:2"]


def test_another_service_is_not_taken_for_an_api_server() -> None:
    """It may be down or slow; that it forbids something is its answer. A function call can only be cut by a crash."""
    elsewhere = Recording(
        writes=[
            WriteStep(1, 1, "PUT", "/v2/networks/a", 0.0, is_external=True),
            WriteStep(2, 1, "CALL", "INSERT", 0.0, is_external=True),
        ],
        reads=[ReadStep(1, 1, "/v2/networks", is_external=True)],
    )
    plans = {str(plan) for plan in single_faults(elsewhere, KINDS.values())}
    assert {"internal-error@write:1", "crash-after@write:1", "crash-after@write:2", "read-lost@read:1"} <= plans
    assert not {
        plan for plan in plans if plan.startswith(("conflict", "competing", "forbidden", "unauth", "read-unauth"))
    }
    assert {plan for plan in plans if plan.endswith("@write:2")} == {"crash-before@write:2", "crash-after@write:2"}


def test_unobserved_states_are_those_of_one_object() -> None:
    """A watch that misses the events of two objects misses the same as one that misses each."""
    assert _texts("events-unobserved") == ["events-unobserved@event:1..2"]


def test_a_stale_read_shows_each_older_state_at_each_rest() -> None:
    """The newest state is not stale; the one before the first event is."""
    assert _texts("stale-restart") == [
        f"stale-restart@rest:1,{PODS}@4",
        f"stale-restart@rest:2,{PODS}@4",
        f"stale-restart@rest:2,{PODS}@5",
        f"stale-restart@rest:2,{PODS}@6",
    ]


@pytest.mark.parametrize("plan", single_faults(RECORDING, KINDS.values()), ids=str)
def test_a_plan_is_read_back_from_its_text(plan: Plan) -> None:
    """The text in a report is all that is needed to run it again."""
    assert parse_plan(str(plan)) == plan


def test_several_faults_are_one_plan() -> None:
    """Pairs are formatted and parsed like single faults."""
    plan = Plan((Fault("crash-after", "write", 1), Fault("stale-restart", "rest", 2, view=View(PODS, "4"))))
    assert parse_plan(str(plan)) == plan
    assert plan.repeats == "updates"
    assert plan.at("write", 1) == plan.faults[0]
    assert plan.at("write", 2) is None


@pytest.mark.parametrize("text", ["", "crash", "crash-after@read:1", "crash-after@write:0", "fire@write:1"])
def test_an_invalid_plan_is_rejected_with_an_example(text: str) -> None:
    """A typo would otherwise pass as a run without a fault."""
    with pytest.raises(ConfigError, match="crash-after@write:3"):
        parse_plan(text)


def test_kinds_are_chosen_by_name_by_number_or_all() -> None:
    """A misspelled name must not mean "none"."""
    assert [kind.name for kind in chosen_kinds("F1")] == ["crash-before", "crash-after"]
    assert [kind.name for kind in chosen_kinds(["stall", "conflict"])] == ["conflict", "stall"]
    assert {kind.name for kind in chosen_kinds("all")} == set(KINDS) - {"stale-restart"}
    assert chosen_kinds(["all", "stale-restart"]) == list(KINDS.values())
    with pytest.raises(ConfigError, match="crashes"):
        chosen_kinds(["crashes"])
    with pytest.raises(
        ConfigError, match=r"'crash-befor' is not a kind of fault \(did you mean crash-before\?\): pass"
    ):
        chosen_kinds(["crash-befor"])
    with pytest.raises(ConfigError, match=r"did you mean watch-closed\?"):
        parse_plan("watch-close@event:1")


def test_pairs_keep_to_their_budget_and_reach_the_end() -> None:
    """A budget that only covers the first fault would hide the others."""
    single = single_faults(RECORDING, [KINDS["crash-after"], KINDS["conflict"], KINDS["stall"]])
    few = pairs(single, 3)
    assert len(few) == 3
    assert len({plan.faults[0] for plan in few}) > 1
    assert len(pairs(single, 1000)) == len(single) * (len(single) - 1) // 2
    assert pairs(single, 0) == []


def test_random_walks_depend_on_their_seed_alone() -> None:
    """A walk that was found must be found again; its text alone is enough, but so is the seed."""
    single = single_faults(RECORDING, KINDS.values())
    walks = random_walks(single, 50, seed=7)
    assert walks == random_walks(single, 50, seed=7) != random_walks(single, 50, seed=8)
    assert len(walks) == 50
    assert {len(plan.faults) for plan in walks} <= {1, 2, 3, 4, 5}
    assert max(len(plan.faults) for plan in walks) > 2
    assert all(parse_plan(str(plan)) == plan for plan in walks)
    assert random_walks(single[:1], 50, seed=7) == []


def test_equal_runs_have_equal_hashes_and_the_first_difference_is_named() -> None:
    """A hash shows that runs differ; a user needs to know where."""
    one, other = Recording(trace=["a", "b"]), Recording(trace=["a", "c"])
    assert one.digest() == Recording(trace=["a", "b"]).digest() != other.digest()
    assert first_difference(one.trace, other.trace) == "step 2 is 'b' in one run and 'c' in the other"
    assert "goes on after 1 steps with 'b'" in first_difference(["a", "b"], ["a"])
    assert first_difference(one.trace, one.trace) == ""
