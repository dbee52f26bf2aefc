"""One replica of a sharded operator: what it may do, given what it has seen."""

from steersman.sharding.assignment import Assignment, Holder
from steersman.sharding.replica import ShardReplica, SlotLease

LEASE = 15.0
A, B = Holder(0, "a"), Holder(1, "b")


def joined(table: Assignment | None = None) -> ShardReplica:
    """Return replica a, which has slot 0 and has seen a table."""
    replica = ShardReplica(4, "a", lease=LEASE)
    replica.join(0)
    replica.saw_table(table, "10" if table is not None else "", 0.0)
    return replica


def read(replica: ShardReplica, slot: int, lease: SlotLease, now: float) -> None:
    """Read a slot from the server, in no time."""
    replica.checked_slot(slot, lease, replica.check([slot], now), now)


def test_the_first_replica_takes_every_shard() -> None:
    """No other replica is there to share with."""
    replica = joined()
    table = replica.decide(0.0)
    assert table is not None
    assert table.held_by(A) == {0, 1, 2, 3}
    assert not replica.open_shards, "it holds nothing before the write has succeeded"
    replica.saw_table(table, "11", 0.0)
    assert replica.open_shards.keys() == {0, 1, 2, 3}


def test_nothing_is_decided_before_the_table_was_read() -> None:
    """A table that is not known may have holders."""
    replica = ShardReplica(4, "a", lease=LEASE)
    replica.join(0)
    assert replica.decide(0.0) is None


def test_a_new_member_gets_shards_only_when_they_are_drained() -> None:
    """The holder writes for a shard until its runs have ended; then it is released, and it stops before that write."""
    replica = joined(Assignment((A, A, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    assert replica.decide(0.0) is None
    assert len(replica.leaving_shards) == 2
    assert replica.open_shards.keys() == {0, 1, 2, 3}
    shard = min(replica.leaving_shards)
    replica.drained(shard, replica.open_shards[shard], {"v1/Secret": "77"})
    assert shard not in replica.open_shards
    table = replica.decide(0.0)
    assert table is not None
    assert table.holders[shard] is None
    assert table.versions == {"v1/Secret": "77"}


def test_a_report_about_an_earlier_hold_changes_nothing() -> None:
    """The shard was released and taken again meanwhile: its runs are under way."""
    replica = joined(Assignment((A, A, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    replica.decide(0.0)
    shard = min(replica.leaving_shards)
    replica.drained(shard, replica.open_shards[shard] - 1, {})
    assert shard in replica.open_shards


def test_a_silent_holder_is_gone_only_after_a_read_from_the_server() -> None:
    """Silence is not death, and a cache is not the truth: the watch may be broken."""
    replica = joined(Assignment((B, B, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    assert replica.to_check(14.9) == []
    assert replica.to_check(15.0) == [1]
    assert replica.decide(15.0) is None
    read(replica, 1, SlotLease("b", "9"), 15.0)
    assert replica.decide(15.0) is None, "it was renewed; only the watch was silent"
    read(replica, 1, SlotLease("b", "9"), 30.0)
    table = replica.decide(30.0)
    assert table is not None
    assert table.held_by(A) == {0, 1, 2, 3}


def test_a_slot_that_looks_free_in_an_old_cache_is_read_first() -> None:
    """The holder can have joined after the last change that this replica has seen of its slot."""
    replica = joined(Assignment((B, B, A, A)))
    replica.saw_slot(1, SlotLease("", "5"), 0.0)
    assert replica.to_check(0.0) == [1]
    assert replica.decide(0.0) is None
    read(replica, 1, SlotLease("b", "8"), 0.0)
    assert replica.decide(0.0) is None


def test_a_read_before_the_table_changed_proves_nothing() -> None:
    """The slot was free when it was read, and its new holder took shards afterwards."""
    replica = joined(Assignment((None, None, A, A)))
    read(replica, 1, SlotLease("", "5"), 0.0)
    replica.saw_table(Assignment((B, B, A, A)), "11", 0.0)
    assert replica.decide(0.0) is None
    assert replica.to_check(0.0) == [1]


def test_a_read_that_was_sent_before_the_table_changed_proves_nothing() -> None:
    """The watch shows a newer table while the response is under way; its holder took the slot after the read."""
    replica = joined(Assignment((None, None, A, A)))
    check = replica.check([1], 0.0)
    replica.saw_table(Assignment((B, B, A, A)), "11", 0.5)
    replica.checked_slot(1, SlotLease("", "5"), check, 1.0)
    assert replica.decide(1.0) is None


def test_a_slow_read_does_not_count_as_silence_until_its_response() -> None:
    """It shows the slot as it was when it was sent, and the holder may have renewed it since."""
    replica = joined(Assignment((B, B, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    check = replica.check([1], 11.0)
    replica.checked_slot(1, SlotLease("b", "5"), check, 15.5)
    assert replica.decide(15.5) is None


def test_an_older_table_is_ignored() -> None:
    """A watch shows what was written before the own write, after the response to that."""
    replica = joined(Assignment((A, A, None, None)))
    replica.saw_table(Assignment((A, A, A, A)), "9", 0.0)
    assert replica.open_shards.keys() == {0, 1}


def test_a_shard_whose_write_was_not_answered_is_held_once_the_table_shows_it() -> None:
    """A response can be lost; the table cannot."""
    replica = joined()
    assert replica.decide(0.0) is not None
    replica.saw_table(Assignment((A, A, A, A)), "11", 1.0)
    assert replica.open_shards.keys() == {0, 1, 2, 3}


def test_a_deleted_table_closes_every_shard_and_is_replaced_after_a_lease() -> None:
    """Its holders may not have seen yet that it is gone."""
    replica = joined(Assignment((A, A, A, A)))
    replica.saw_table(None, "", 100.0)
    assert not replica.open_shards
    assert replica.decide(100.0 + LEASE - 0.1) is None
    assert replica.decide(100.0 + LEASE) is not None


def test_a_shard_that_was_drained_stays_closed_when_the_absence_of_the_table_was_old_news() -> None:
    """Found by a simulation: the release was under way, and a read from before the first table arrived late."""
    replica = joined(Assignment((A, A, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    assert replica.decide(0.0) is None
    leaving = replica.leaving_shards
    assert leaving
    for shard in leaving:
        replica.drained(shard, replica.open_shards[shard], {})
    assert replica.decide(0.1) is not None, "it releases them, and the response is lost"
    replica.saw_table(None, "", 0.2)
    replica.saw_table(Assignment((A, A, A, A)), "10", 0.3)
    assert replica.open_shards.keys() == {0, 1, 2, 3} - leaving


def test_a_table_that_is_older_than_a_deleted_one_is_ignored() -> None:
    """Only the next table, which has a newer version, shows who holds what."""
    replica = joined(Assignment((A, A, A, A)))
    replica.saw_table(None, "", 100.0)
    replica.saw_table(Assignment((A, A, None, None)), "9", 100.1)
    assert not replica.open_shards
    replica.saw_table(Assignment((A, None, None, None)), "12", 100.2)
    assert replica.open_shards.keys() == {0}


def test_a_replica_with_another_number_of_shards_waits() -> None:
    """The same object would belong to two shards at once."""
    table = Assignment((B, B))
    replica = joined(table)
    read(replica, 1, SlotLease("b", "5"), 0.0)
    assert "2 shards" in replica.problem
    assert replica.decide(0.0) is None
    read(replica, 1, SlotLease("", "6"), 1.0)
    assert not replica.problem
    taken = replica.decide(1.0)
    assert taken is not None
    assert taken.count == 4


def test_shards_of_a_holder_that_is_gone_are_freed_for_a_replica_that_has_just_started() -> None:
    """The new one has not watched the silent slot for a whole lease, and would find out only after that."""
    replica = joined(Assignment((B, B, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    replica.saw_slot(2, SlotLease("c", "6"), 14.0)
    read(replica, 1, SlotLease("b", "5"), 15.0)
    table = replica.decide(15.0)
    assert table is not None
    assert table.holders == (None, None, A, A)


def test_free_shards_are_not_left_to_a_replica_that_has_stopped_renewing() -> None:
    """It may be dead, and no replica knows for a whole lease: nothing is taken from it, and nothing is left to it."""
    replica = joined(Assignment((None, None, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    fresh = replica.decide(1.0)
    assert fresh is None, "b renews its slot, and takes them itself"
    table = replica.decide(8.0)
    assert table is not None
    assert table.held_by(A) == {0, 1, 2, 3}
    replica = joined(Assignment((B, B, A, A)))
    replica.saw_slot(1, SlotLease("b", "5"), 0.0)
    assert replica.decide(8.0) is None, "what it holds stays its own until it is gone"


def test_a_new_replica_leaves_nothing_to_a_slot_that_was_renewed_long_ago() -> None:
    """It sees every slot for the first time; the time in the Lease is enough for a proposal, and for nothing else."""
    replica = joined(Assignment((None, None, A, A)))
    replica.saw_slot(1, SlotLease("b", "5", age=3600.0), 0.0)
    table = replica.decide(0.0)
    assert table is not None
    assert table.held_by(A) == {0, 1, 2, 3}
    replica.saw_slot(1, SlotLease("b", "6", age=3600.0), 1.0)
    assert replica.members(1.0) == {0: "a", 1: "b"}, "it renews; only its clock is wrong"


def test_the_time_in_a_lease_never_takes_a_shard_from_its_holder() -> None:
    """Clocks may differ by any amount."""
    replica = joined(Assignment((B, B, A, A)))
    read(replica, 1, SlotLease("b", "5", age=3600.0), 0.0)
    assert replica.decide(14.0) is None


def test_the_former_holder_of_the_own_slot_is_gone() -> None:
    """The slot could be taken only because that one did not renew it."""
    replica = joined(Assignment((Holder(0, "before"), None, None, None)))
    table = replica.decide(0.0)
    assert table is not None
    assert table.held_by(A) == {0, 1, 2, 3}


def test_a_slot_whose_lost_response_was_a_success_is_tried_first() -> None:
    """Otherwise this replica would hold two slots, and the other ones would leave shards to both."""
    replica = ShardReplica(4, "a", lease=LEASE)
    replica.saw_slot(2, SlotLease("a", "5"), 0.0)
    assert replica.free_slots() == [2, 0, 1, 3]


def test_a_replica_that_leaves_releases_all_and_takes_nothing() -> None:
    """Free shards are for the others."""
    replica = joined(Assignment((A, None, A, A)))
    replica.leave({"v1/Secret": "8"})
    table = replica.decide(0.0)
    assert table is not None
    assert set(table.holders) == {None}
    assert not replica.open_shards
