"""Selection of the master, without any server."""

from dataclasses import replace

import pytest

from redisfailover.actions import Failover, Follow, Promote
from redisfailover.master_selection import SENTINEL_TIMEOUT, SPLIT_BRAIN_DELAY, select_master
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode

GOAL = Goal()


def at(number: int) -> Address:
    """Return the address of a server."""
    return Address(f"10.0.0.{number}", 6379)


def replica(number: int, of: int | None = None, *, offset: int = 100, keys: int = 1) -> RedisNode:
    """Return a replica; one that has just started follows itself."""
    master = at(number if of is None else of)
    return RedisNode(
        pod=f"rfr-a-{number}",
        address=at(number),
        role="slave",
        follows=master,
        is_synced=of is not None,
        offset=offset,
        keys=keys,
    )


def master(number: int, *, offset: int = 100) -> RedisNode:
    """Return a master."""
    return RedisNode(pod=f"rfr-a-{number}", address=at(number), role="master", is_synced=True, offset=offset, keys=1)


def silent(number: int) -> RedisNode:
    """Return a server that does not respond."""
    return RedisNode(pod=f"rfr-a-{number}", address=at(number), problem="does not respond")


def sentinels(watching: int | None, *, count: int = 3, is_down: bool = False) -> tuple[SentinelNode, ...]:
    """Return sentinels that monitor a server, or none."""
    watches = at(watching) if watching is not None else None
    one = SentinelNode(pod="", answers=True, watches=watches, quorum=2, replicas=2, others=2, is_down=is_down)
    return tuple(
        replace(one, pod=f"rfs-a-{number}", address=Address(f"10.0.1.{number}", 26379)) for number in range(count)
    )


def test_the_only_master_is_the_master() -> None:
    """A healthy master must not be touched."""
    found = select_master(GOAL, Observation(redis=(master(0), replica(1, 0), replica(2, 0)), sentinels=sentinels(0)))
    assert (found.master, found.actions, found.available.status) == (master(0), (), True)


def test_on_the_first_start_the_first_server_becomes_master() -> None:
    """All are empty; the choice must not depend on which one responded first."""
    nodes = tuple(replica(number, offset=0, keys=0) for number in (2, 0, 1))
    [action] = select_master(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-0"


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([replica(0, offset=10), replica(1, offset=30), replica(2, offset=20)], "rfr-a-1"),
        ([replica(0, offset=0, keys=0), replica(1, offset=0, keys=5), replica(2, offset=0, keys=5)], "rfr-a-1"),
        ([replica(0, offset=5, keys=9), replica(1, offset=6, keys=1), replica(2, offset=0, keys=0)], "rfr-a-1"),
    ],
)
def test_after_all_servers_restarted_the_newest_data_wins(nodes: list[RedisNode], expected: str) -> None:
    """The offset counts first; where it was lost, a server with keys wins over an empty one."""
    [action] = select_master(GOAL, Observation(redis=tuple(nodes), sentinels=sentinels(0))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == expected


def test_no_server_is_promoted_while_a_missing_one_may_have_newer_data() -> None:
    """A promotion would discard the data of the server that does not respond."""
    found = select_master(GOAL, Observation(redis=(replica(0), replica(1), silent(2)), seconds_without_master=9999))
    assert (found.actions, found.available.reason) == ((), "WaitingForServers")


def test_a_failed_master_is_left_to_the_sentinels() -> None:
    """If the operator replaced it too, there would be two masters."""
    seen = Observation(redis=(silent(0), replica(1, 0), replica(2, 0)), sentinels=sentinels(0, is_down=True))
    found = select_master(GOAL, seen)
    assert (found.actions, found.available.reason) == ((), "WaitingForSentinels")


def test_the_operator_promotes_a_server_if_sentinels_fail_to() -> None:
    """They may have found no suitable replica, and would not find one later."""
    seen = Observation(
        redis=(silent(0), replica(1, 0, offset=7), replica(2, 0, offset=8)),
        sentinels=sentinels(0, is_down=True),
        seconds_without_master=SENTINEL_TIMEOUT,
    )
    [action] = select_master(GOAL, seen).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


def test_a_master_that_only_the_operator_cannot_reach_is_not_replaced() -> None:
    """Sentinels that reach it are right: clients may be writing to it."""
    seen = Observation(
        redis=(silent(0), replica(1, 0), replica(2, 0)),
        sentinels=sentinels(0),
        seconds_without_master=10 * SENTINEL_TIMEOUT,
    )
    assert select_master(GOAL, seen).actions == ()


def test_a_master_that_restarted_does_not_become_master_again() -> None:
    """Its replicas have data that it had not saved; sentinels need half a minute to notice the restart."""
    seen = Observation(
        redis=(replica(0, offset=50), replica(1, 0, offset=90), replica(2, 0, offset=80)), sentinels=sentinels(0)
    )
    [action] = select_master(GOAL, seen).actions
    assert isinstance(action, Failover)
    assert action.otherwise.pod == "rfr-a-1"


def test_nothing_is_done_during_a_failover_of_the_sentinels() -> None:
    """The observed state is inconsistent meanwhile."""
    busy = tuple(replace(one, is_failing_over=True) for one in sentinels(0))
    for nodes in ((replica(0), replica(1, 0), replica(2, 0)), (master(0), master(1), replica(2, 0))):
        assert select_master(GOAL, Observation(redis=nodes, sentinels=busy)).actions == ()


def test_of_two_masters_the_monitored_one_with_the_newest_data_stays() -> None:
    """An old master that returns becomes a replica."""
    seen = Observation(redis=(master(0, offset=90), master(1, offset=100), replica(2, 1)), sentinels=sentinels(1))
    found = select_master(GOAL, seen)
    assert found.master == master(1, offset=100)
    assert found.actions == (Follow(master(0, offset=90), at(1)),)


@pytest.mark.parametrize("watching", [None, 0])
def test_two_masters_without_a_safe_choice_stop_everything(watching: int | None) -> None:
    """Without a quorum, or if the other one has newer data, any choice discards data."""
    nodes = (master(0, offset=90), master(1, offset=100), replica(2, 1))
    seen = Observation(redis=nodes, sentinels=sentinels(watching))
    at_first, later = (
        select_master(GOAL, seen),
        select_master(GOAL, replace(seen, seconds_with_several_masters=SPLIT_BRAIN_DELAY)),
    )
    assert (at_first.actions, at_first.split.status) == ((), None)
    assert (later.actions, later.split.status, later.master) == ((), True, None)


def test_all_servers_follow_the_external_master() -> None:
    """Also a server that was master here, because the user asked for it."""
    outside = Address("10.9.9.9", 6379)
    goal = Goal(external_master=outside)
    found = select_master(goal, Observation(redis=(master(0), replica(1, 0), silent(2))))
    assert found.actions == (Follow(master(0), outside), Follow(replica(1, 0), outside))


def test_after_the_external_master_is_removed_the_newest_becomes_master() -> None:
    """All follow a master that no sentinel monitors, so the operator must promote one."""
    nodes = tuple(replace(replica(number, 9, offset=number), is_synced=True) for number in range(3))
    [action] = select_master(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


# Histories.


def of(node: RedisNode, history: str, *, before: str = "", until: int = -1) -> RedisNode:
    """Return a server with a replication history, and the one before it."""
    return replace(node, history=history, previous_history=before, previous_history_end=until)


def test_offsets_of_different_histories_are_not_compared() -> None:
    """A larger offset of another history means nothing; the history of the last master is the newest."""
    nodes = (of(replica(0, offset=900), "old"), of(replica(1, offset=20), "new"), of(replica(2, offset=30), "new"))
    seen = Observation(redis=nodes, sentinels=sentinels(None), last_history="new")
    [action] = select_master(GOAL, seen).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


def test_no_server_is_promoted_if_histories_cannot_be_compared() -> None:
    """Any choice discards the data of the others; a person may know which one is right."""
    nodes = (of(replica(0, offset=900), "a"), of(replica(1, offset=20), "b"), of(replica(2, offset=0, keys=0), "c"))
    found = select_master(GOAL, Observation(redis=nodes, sentinels=sentinels(None)))
    assert (found.actions, found.available.reason) == ((), "HistoriesDiffer")


def test_a_server_that_has_nothing_has_no_history() -> None:
    """It lost its disk, so it must not keep the others from being promoted."""
    nodes = (of(replica(0, offset=1, keys=0), "c"), of(replica(1, offset=20), "b"), of(replica(2, offset=20), "b"))
    [action] = select_master(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-1"


@pytest.mark.parametrize(("offset", "follows"), [(100, True), (101, False)])
def test_a_former_master_follows_if_the_new_one_has_all_its_data(offset: int, follows: bool) -> None:
    """The new one started its history after offset 100; only the old one has later writes of its own."""
    old = of(master(0, offset=offset), "old")
    new = of(master(1, offset=5000), "new", before="old", until=101)
    seen = Observation(redis=(old, new, of(replica(2, 1, offset=5000), "new")), sentinels=sentinels(1))
    found = select_master(GOAL, seen)
    assert found.actions == ((Follow(old, at(1)),) if follows else ())
    assert (found.split.status is False) == follows
