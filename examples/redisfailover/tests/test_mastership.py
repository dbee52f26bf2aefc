"""Who is master: the rules, without a server."""

from dataclasses import replace

import pytest

from redisfailover.actions import Failover, Follow, Promote
from redisfailover.mastership import PATIENCE, SETTLING, mastership
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode

GOAL = Goal()


def at(number: int) -> Address:
    """Give the address of a server."""
    return Address(f"10.0.0.{number}", 6379)


def replica(number: int, of: int | None = None, *, offset: int = 100, keys: int = 1) -> RedisNode:
    """Make a replica; one that has just started follows itself."""
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
    """Make a master."""
    return RedisNode(pod=f"rfr-a-{number}", address=at(number), role="master", is_synced=True, offset=offset, keys=1)


def silent(number: int) -> RedisNode:
    """Make a server that does not answer."""
    return RedisNode(pod=f"rfr-a-{number}", address=at(number), problem="does not answer")


def sentinels(watching: int | None, *, count: int = 3, is_down: bool = False) -> tuple[SentinelNode, ...]:
    """Make sentinels that watch a server, or none."""
    watches = at(watching) if watching is not None else None
    one = SentinelNode(pod="", answers=True, watches=watches, quorum=2, replicas=2, others=2, is_down=is_down)
    return tuple(
        replace(one, pod=f"rfs-a-{number}", address=Address(f"10.0.1.{number}", 26379)) for number in range(count)
    )


def test_the_only_master_is_the_master() -> None:
    """Nothing is to be done where nothing is wrong."""
    found = mastership(GOAL, Observation(redis=(master(0), replica(1, 0), replica(2, 0)), sentinels=sentinels(0)))
    assert (found.master, found.actions, found.available.status) == (master(0), (), True)


def test_on_the_first_start_the_first_server_becomes_master() -> None:
    """All are empty and alike; which one it is must not depend on who answered first."""
    nodes = tuple(replica(number, offset=0, keys=0) for number in (2, 0, 1))
    [action] = mastership(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
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
    """The place in the history counts first; where it was not kept, that there is data at all."""
    [action] = mastership(GOAL, Observation(redis=tuple(nodes), sentinels=sentinels(0))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == expected


def test_nobody_is_promoted_while_the_newest_data_may_be_elsewhere() -> None:
    """The server that does not answer may be the one that has it."""
    found = mastership(GOAL, Observation(redis=(replica(0), replica(1), silent(2)), masterless_for=9999))
    assert (found.actions, found.available.reason) == ((), "WaitingForServers")


def test_a_master_that_is_gone_is_left_to_the_sentinels() -> None:
    """Two who replace a master make two masters."""
    seen = Observation(redis=(silent(0), replica(1, 0), replica(2, 0)), sentinels=sentinels(0, is_down=True))
    found = mastership(GOAL, seen)
    assert (found.actions, found.available.reason) == ((), "WaitingForSentinels")


def test_sentinels_that_see_it_and_do_nothing_are_not_waited_for_for_ever() -> None:
    """They may have found no good replica, and would not until somebody helps."""
    seen = Observation(
        redis=(silent(0), replica(1, 0, offset=7), replica(2, 0, offset=8)),
        sentinels=sentinels(0, is_down=True),
        masterless_for=PATIENCE,
    )
    [action] = mastership(GOAL, seen).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


def test_a_master_that_only_the_operator_cannot_reach_is_not_replaced() -> None:
    """Sentinels that find it well are right: clients may be writing to it."""
    seen = Observation(
        redis=(silent(0), replica(1, 0), replica(2, 0)), sentinels=sentinels(0), masterless_for=10 * PATIENCE
    )
    assert mastership(GOAL, seen).actions == ()


def test_a_master_that_restarted_does_not_become_master_again() -> None:
    """Its replicas have what it had not saved; sentinels take half a minute to see that it is none any more."""
    seen = Observation(
        redis=(replica(0, offset=50), replica(1, 0, offset=90), replica(2, 0, offset=80)), sentinels=sentinels(0)
    )
    [action] = mastership(GOAL, seen).actions
    assert isinstance(action, Failover)
    assert action.otherwise.pod == "rfr-a-1"


def test_while_sentinels_replace_the_master_nobody_else_does_anything() -> None:
    """What is seen in the middle of it is half of it."""
    busy = tuple(replace(one, is_failing_over=True) for one in sentinels(0))
    for nodes in ((replica(0), replica(1, 0), replica(2, 0)), (master(0), master(1), replica(2, 0))):
        assert mastership(GOAL, Observation(redis=nodes, sentinels=busy)).actions == ()


def test_of_two_masters_the_one_stays_that_is_watched_and_newest() -> None:
    """An old master that comes back has to follow."""
    seen = Observation(redis=(master(0, offset=90), master(1, offset=100), replica(2, 1)), sentinels=sentinels(1))
    found = mastership(GOAL, seen)
    assert found.master == master(1, offset=100)
    assert found.actions == (Follow(master(0, offset=90), at(1)),)


@pytest.mark.parametrize("watching", [None, 0])
def test_two_masters_that_cannot_be_told_apart_stop_everything(watching: int | None) -> None:
    """Without a quorum, or where the other one has newer data, choosing is throwing data away."""
    nodes = (master(0, offset=90), master(1, offset=100), replica(2, 1))
    seen = Observation(redis=nodes, sentinels=sentinels(watching))
    at_first, later = mastership(GOAL, seen), mastership(GOAL, replace(seen, several_for=SETTLING))
    assert (at_first.actions, at_first.split.status) == ((), None)
    assert (later.actions, later.split.status, later.master) == ((), True, None)


def test_everybody_follows_the_one_outside() -> None:
    """Also a server that was master here: that is what the user asked for."""
    outside = Address("10.9.9.9", 6379)
    goal = Goal(outside=outside)
    found = mastership(goal, Observation(redis=(master(0), replica(1, 0), silent(2))))
    assert found.actions == (Follow(master(0), outside), Follow(replica(1, 0), outside))


def test_after_the_cut_from_outside_the_newest_becomes_master() -> None:
    """All follow somebody whom no sentinel watches: nobody else will do it."""
    nodes = tuple(replace(replica(number, 9, offset=number), is_synced=True) for number in range(3))
    [action] = mastership(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


# Histories.


def of(node: RedisNode, history: str, *, before: str = "", until: int = -1) -> RedisNode:
    """Return a server whose offset counts in a history, and which began it after another one."""
    return replace(node, history=history, before=before, before_until=until)


def test_offsets_of_different_histories_are_not_compared() -> None:
    """A larger number of another count says nothing; the one of the last master is the newest."""
    nodes = (of(replica(0, offset=900), "old"), of(replica(1, offset=20), "new"), of(replica(2, offset=30), "new"))
    seen = Observation(redis=nodes, sentinels=sentinels(None), last_history="new")
    [action] = mastership(GOAL, seen).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-2"


def test_nobody_is_promoted_where_histories_cannot_be_compared() -> None:
    """Whoever is chosen, the data of the others is thrown away; a person may know."""
    nodes = (of(replica(0, offset=900), "a"), of(replica(1, offset=20), "b"), of(replica(2, offset=0, keys=0), "c"))
    found = mastership(GOAL, Observation(redis=nodes, sentinels=sentinels(None)))
    assert (found.actions, found.available.reason) == ((), "HistoriesDiffer")


def test_a_server_that_has_nothing_has_no_history() -> None:
    """It lost its disk: what the other two have is all that there is."""
    nodes = (of(replica(0, offset=1, keys=0), "c"), of(replica(1, offset=20), "b"), of(replica(2, offset=20), "b"))
    [action] = mastership(GOAL, Observation(redis=nodes, sentinels=sentinels(None))).actions
    assert isinstance(action, Promote)
    assert action.node.pod == "rfr-a-1"


@pytest.mark.parametrize(("offset", "follows"), [(100, True), (101, False)])
def test_a_master_of_before_follows_if_the_new_one_took_over_all_that_it_had(offset: int, follows: bool) -> None:
    """The new one began its history after entry 100; whatever the old one wrote since, only it has."""
    old = of(master(0, offset=offset), "old")
    new = of(master(1, offset=5000), "new", before="old", until=101)
    seen = Observation(redis=(old, new, of(replica(2, 1, offset=5000), "new")), sentinels=sentinels(1))
    found = mastership(GOAL, seen)
    assert found.actions == ((Follow(old, at(1)),) if follows else ())
    assert (found.split.status is False) == follows
