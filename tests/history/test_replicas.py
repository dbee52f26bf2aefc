"""The answers of several replicas as one: whose word counts, and what is added up."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from steersman.history.explanation import explain
from steersman.history.records import KeyPhase, KeyState, ObjectName, ObjectView, Reconcile, ReplicaRecord
from steersman.history.replicas import merged_overview, merged_overviews, merged_summaries, merged_view
from steersman.history.state import LeadershipState, ObjectSummary
from tests.support.introspection import STARTED, SampleIntrospection

NAME = ObjectName("Site", "default", "a", "example.com")


def run(second: int) -> Reconcile:
    """Return a reconcile that began at that second."""
    started = STARTED + timedelta(seconds=second)
    return Reconcile(controller="site", object=NAME, uid="u", number=1, started=started, seconds=0.1)


def view(identity: str, *seconds: int, is_working: bool = False, phase: KeyPhase = KeyPhase.IDLE) -> ObjectView:
    """Return what a replica knows of an object that it reconciled at these seconds."""
    replica = ReplicaRecord(lease="default/site", identity=identity, is_working=is_working, shard=3, shards=8)
    return ObjectView(object=NAME, state=KeyState(phase), reconciles=tuple(map(run, seconds)), replica=replica)


def test_the_state_is_that_of_the_replica_that_works_on_the_shard_and_runs_are_those_of_all() -> None:
    """After a move the former holder has the longer history, and its word about the next run is outdated."""
    former, holder = view("a", 1, 2, 3), view("b", 4, is_working=True, phase=KeyPhase.QUEUED)
    merged = merged_view([former, holder])
    assert merged.state.phase is KeyPhase.QUEUED
    assert [one.started.second for one in merged.reconciles] == [1, 2, 3, 4]
    assert explain(merged, STARTED)[1:3] == [
        "Next run: as soon as a worker is free.",
        "Replica: b, which works on shard 3 of 8.",
    ]


def test_a_replica_whose_cache_lags_does_not_hide_an_object() -> None:
    """Each replica has a cache of its own, and one of them has it last."""
    late = ObjectView(object=NAME, exists=False, replica=ReplicaRecord(lease="default/site", identity="b"))
    assert merged_view([late, view("a")]).exists


def test_the_next_run_is_not_known_if_the_replica_that_works_does_not_answer() -> None:
    """Silence is not death: another process may run the object right now, so "nothing to do" would be a guess."""
    lines = explain(merged_view([view("a", 1), view("c")]), STARTED)
    assert lines[1] == "Next run: not known, because no replica that answered works on shard 3 of 8."


@pytest.mark.parametrize("other", [{"cluster": "https://other"}, {"replica": None}])
def test_operators_that_share_no_lease_are_not_put_together(other: dict[str, object]) -> None:
    """Two developers' clusters have objects of the same name; so may one cluster and a test of it."""
    unrelated = replace(view("a", 1, 2), **other)
    assert len(merged_view([unrelated, view("b", 3, is_working=True)]).reconciles) == 2


def test_every_object_is_listed_once_as_its_replica_sees_it() -> None:
    """Each replica caches all objects."""
    foreign = ObjectSummary(object=NAME, is_foreign=True)
    own = ObjectSummary(object=NAME, failures=3)
    assert merged_summaries([[foreign], [own], [foreign]]) == [own]


def test_an_overview_adds_up_the_work_of_the_replicas_and_keeps_others_apart() -> None:
    """It answers for the operator, not for one of its processes."""
    one = SampleIntrospection().overview()
    assert one.leadership is not None
    sharded = replace(one.leadership, shard_count=8)
    replicas = [replace(one, leadership=replace(sharded, shards=shards)) for shards in ((0, 2), (1, 3, 4))]
    merged = merged_overview(replicas)
    assert merged.replicas == 2
    assert merged.leadership == replace(sharded, shards=(0, 1, 2, 3, 4))
    assert (merged.controllers[0].runs, merged.controllers[0].keys) == (14, {KeyPhase.RUNNING: 2})
    assert merged.caches == one.caches
    other = replace(one, leadership=LeadershipState(is_leader=True, lease="shop/site"))
    assert [found.replicas for found, _ in merged_overviews([(one, 1) for one in (*replicas, other)])] == [2, 1]
