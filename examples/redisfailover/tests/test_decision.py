"""What is done next: the rules, without a server."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redisfailover.actions import Adjust, Configure, Failover, Fence, Follow, Monitor, Promote, Release, Replace, Reset
from redisfailover.decision import decide
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode

GOAL = Goal()
MASTER = Address("10.0.0.0", 6379)


def server(number: int, **changes: Any) -> RedisNode:
    """Make a server: the first is master, the others follow it, unless told otherwise."""
    role: dict[str, Any] = {"role": "slave", "follows": MASTER} if number else {"role": "master"}
    known = {"pod": f"rfr-a-{number}", "address": Address(f"10.0.0.{number}", 6379), "is_synced": True, "offset": 9}
    return RedisNode(**{**known, **role, **changes})


def sentinel(number: int, **changes: Any) -> SentinelNode:
    """Make a sentinel that knows everybody, unless told otherwise."""
    known: dict[str, Any] = {
        "pod": f"rfs-a-{number}",
        "address": Address(f"10.0.1.{number}", 26379),
        "answers": True,
        "watches": MASTER,
        "quorum": 2,
        "replicas": 2,
        "others": 2,
    }
    return SentinelNode(**{**known, **changes})


WELL = Observation(redis=tuple(map(server, range(3))), sentinels=tuple(map(sentinel, range(3))))


def with_redis(*nodes: RedisNode) -> Observation:
    """Give a look at which these servers differ from all being well."""
    changed = {node.pod: node for node in nodes}
    return replace(WELL, redis=tuple(changed.get(node.pod, node) for node in WELL.redis))


def with_sentinels(*nodes: SentinelNode) -> Observation:
    """Give a look at which these sentinels differ from all being well."""
    changed = {node.pod: node for node in nodes}
    return replace(WELL, sentinels=tuple(changed.get(node.pod, node) for node in WELL.sentinels))


def test_where_all_is_well_nothing_is_done() -> None:
    """At rest there is no command, and it is said that there is none to come."""
    plan = decide(GOAL, WELL)
    assert plan.actions == ()
    assert plan.is_settled
    assert plan.conditions["Ready"].status is True
    assert plan.roles == {"rfr-a-0": "master", "rfr-a-1": "slave", "rfr-a-2": "slave"}


def test_a_server_that_follows_somebody_else_follows_the_master() -> None:
    """One that has just started follows itself."""
    lost = server(2, follows=Address("10.0.0.2", 6379), is_synced=False)
    plan = decide(GOAL, with_redis(lost))
    assert plan.actions == (Follow(lost, MASTER),)
    assert plan.conditions["Ready"].reason == "NotSynced"


def test_a_sentinel_that_knows_no_master_is_told() -> None:
    """A new one, or one that was told of somebody else."""
    new = sentinel(1, watches=None)
    wrong = sentinel(2, watches=Address("10.0.0.7", 6379))
    assert decide(GOAL, with_sentinels(new, wrong)).actions == (Monitor(new, MASTER, 2), Monitor(wrong, MASTER, 2))


def test_the_quorum_follows_the_number_of_sentinels() -> None:
    """Two of five could replace a master behind the back of the others."""
    seen = replace(WELL, sentinels=tuple(sentinel(number, others=4) for number in range(5)))
    actions = decide(replace(GOAL, sentinels=5), seen).actions
    assert actions == tuple(Adjust(node, {"quorum": "3"}) for node in seen.sentinels)


def test_one_sentinel_at_a_time_forgets_those_who_are_gone() -> None:
    """Each knows nothing for a moment; if all did, a failure in that moment would not be handled."""
    stale = [sentinel(number, others=3) for number in range(3)]
    [action] = decide(GOAL, with_sentinels(*stale)).actions
    assert isinstance(action, Reset)
    assert action.node == stale[0]
    assert decide(GOAL, with_sentinels(sentinel(0, replicas=0, others=0), stale[1])).actions == ()


def test_settings_change_in_running_servers() -> None:
    """No restart for what Redis can change by itself."""
    other = server(1, drift={"maxmemory": "1gb"})
    assert decide(GOAL, with_redis(other)).actions == (Configure(other, {"maxmemory": "1gb"}),)


def test_a_rolling_update_takes_replicas_first_and_one_at_a_time() -> None:
    """Beginning with the highest number, as StatefulSets do."""
    outdated = [server(number, is_current=False) for number in range(3)]
    assert decide(GOAL, with_redis(*outdated)).actions == (Replace(outdated[2]),)


@pytest.mark.parametrize("trouble", [{"is_synced": False}, {"role": None}, {"drift": {"maxmemory": "1"}}])
def test_a_rolling_update_waits_for_every_server(trouble: dict[str, Any]) -> None:
    """Two that are missing at once are one too many."""
    actions = decide(GOAL, with_redis(server(1, **trouble), server(2, is_current=False))).actions
    assert not any(isinstance(action, Replace) for action in actions)


def test_a_pod_that_cannot_run_is_replaced_once_it_is_meant_otherwise() -> None:
    """An image that is not there, and then corrected: the update would wait forever for the pod that it is to help."""
    stuck = server(2, role=None, is_stuck=True, is_current=False, problem="ErrImagePull")
    assert decide(GOAL, with_redis(stuck)).actions == (Replace(stuck),)
    assert decide(GOAL, with_redis(replace(stuck, is_current=True))).actions == ()
    nobody = [server(number, role=None, is_stuck=True, is_current=False) for number in range(3)]
    assert decide(GOAL, with_redis(*nobody)).actions == (Replace(nobody[2]),)


def test_two_pods_are_never_replaced_at_once() -> None:
    """A pod that cannot run waits for the update that is replacing another: a look at too many pods showed both."""
    stuck = server(0, address=None, role=None, is_stuck=True, is_current=False)
    master = server(1, role="master", follows=None, is_current=False)
    found = decide(replace(GOAL, replicas=1, stays=1), Observation(redis=(stuck, master), sentinels=()))
    assert [action for action in found.actions if isinstance(action, Replace)] == [Replace(stuck)]


def test_a_server_that_hangs_is_not_replaced_by_an_update() -> None:
    """It may be the master, with data that nobody else has."""
    hanging = server(0, role=None, is_current=False, problem="does not answer")
    assert decide(GOAL, with_redis(hanging)).actions == ()


def test_the_master_hands_over_before_it_is_replaced() -> None:
    """By way of the sentinels, whom clients ask; it confirms nothing that its successor will not have."""
    old = server(0, is_current=False)
    [action] = decide(GOAL, with_redis(old)).actions
    assert isinstance(action, Failover)
    assert action.fence == Fence(old, WELL.redis[1:], write_quorum=2)
    unaware = with_sentinels(sentinel(0, replicas=0))
    assert decide(GOAL, replace(unaware, redis=(old, *WELL.redis[1:]))).actions == ()


def test_a_master_that_is_to_go_stays_fenced_until_it_is_demoted() -> None:
    """The failover may be under way, unseen: whoever opened it again would let it confirm writes that are lost."""
    handing_over = server(0, is_current=False, write_quorum=2)
    for successor in (server(1), server(1, role="master", follows=None, history="b", before="a", before_until=9)):
        actions = decide(GOAL, with_redis(handing_over, successor)).actions
        assert not any(isinstance(action, Configure) for action in actions)


@pytest.mark.parametrize("left", [server(0, write_quorum=2), server(1, write_quorum=2, is_current=False)])
def test_a_fence_that_is_not_needed_any_more_is_taken_away(left: RedisNode) -> None:
    """A hand-over that was called off, or is done: one missing replica must not stop all writes."""
    assert Configure(left, {"min-replicas-to-write": "0"}) in decide(GOAL, with_redis(left)).actions


def test_a_fence_is_never_lower_than_what_the_user_asks_for() -> None:
    """``customConfig`` may ask for more than the replicas there are."""
    asked = replace(GOAL, write_quorum=5)
    nodes = [server(number, write_quorum=5, is_current=bool(number)) for number in range(3)]
    [action] = decide(asked, with_redis(*nodes)).actions
    assert isinstance(action, Failover)
    assert action.fence is not None
    assert action.fence.write_quorum == 5


def test_a_single_server_is_replaced_as_it_is() -> None:
    """There is nobody to hand over to."""
    alone = server(0, is_current=False)
    seen = Observation(redis=(alone,), sentinels=tuple(sentinel(number, replicas=0) for number in range(3)))
    assert decide(replace(GOAL, replicas=1, stays=1), seen).actions == (Replace(alone),)


def test_a_master_beyond_the_wanted_number_hands_over_before_it_goes() -> None:
    """Scaling down takes the highest number, and that may be the master."""
    high = Address("10.0.0.2", 6379)
    nodes = (
        server(0, role="slave", follows=high),
        server(1, follows=high),
        server(2, role="master", follows=None),
    )
    seen = Observation(redis=nodes, sentinels=tuple(sentinel(number, watches=high) for number in range(3)))
    plan = decide(replace(GOAL, stays=2), seen)
    [action] = plan.actions
    assert isinstance(action, Failover)


def test_it_is_told_that_a_master_beyond_the_wanted_number_is_still_there() -> None:
    """Until the sentinels know everybody nothing can be done, and that can take a while: it is not as asked yet."""
    plan = decide(replace(GOAL, stays=2), with_sentinels(sentinel(0, replicas=1)))
    assert plan.actions == ()
    assert plan.conditions["Progressing"].reason == "ScalingDown"
    assert not plan.is_settled


def test_a_refused_password_is_told() -> None:
    """It looks like a server that is gone, and is none."""
    refusing = [server(number, role=None, problem="refuses the password: WRONGPASS") for number in range(3)]
    plan = decide(GOAL, with_redis(*refusing))
    assert plan.actions == ()
    assert plan.conditions["Ready"].reason == "WrongPassword"


def test_sentinels_watch_the_one_outside_only_if_they_may() -> None:
    """Watching it they could make somebody here its successor."""
    outside = Address("10.9.9.9", 6379)
    nodes = tuple(server(number, role="slave", follows=outside) for number in range(3))
    seen = Observation(redis=nodes, sentinels=(sentinel(0, watches=None),))
    assert decide(replace(GOAL, outside=outside), seen).actions == ()
    fighting = replace(seen, sentinels=(sentinel(0),))
    assert decide(replace(GOAL, outside=outside), fighting).actions == (Release(fighting.sentinels[0]),)
    allowed = replace(GOAL, outside=outside, watches_outside=True)
    assert decide(allowed, seen).actions == (Monitor(seen.sentinels[0], outside, 2),)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Make anything that a look could show."""
    addresses = [Address(f"10.0.0.{number}", 6379) for number in range(5)]
    somebody = st.sampled_from([None, *addresses])
    nodes = [
        RedisNode(
            pod=f"rfr-a-{number}",
            address=draw(st.sampled_from([None, addresses[number]])),
            is_current=draw(st.booleans()),
            is_stuck=draw(st.booleans()),
            role=draw(st.sampled_from(["master", "slave", None])),
            follows=draw(somebody),
            is_synced=draw(st.booleans()),
            offset=draw(st.integers(0, 3)),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    watchers = [
        sentinel(
            number,
            answers=draw(st.booleans()),
            watches=draw(somebody),
            replicas=draw(st.integers(0, 4)),
            others=draw(st.integers(0, 4)),
            is_down=draw(st.booleans()),
            is_failing_over=draw(st.integers(0, 4)) == 0,
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    long = st.sampled_from([0.0, 30.0, 100.0])
    return Observation(redis=tuple(nodes), sentinels=tuple(watchers), masterless_for=draw(long), several_for=draw(long))


@given(observations(), st.integers(1, 4))
def test_whatever_is_seen_no_data_is_thrown_away(seen: Observation, replicas: int) -> None:
    """Laws for all looks: no second master is made, and no master follows one whose data is older."""
    plan = decide(replace(GOAL, replicas=replicas, stays=replicas), seen)
    newest = {node.pod: node.offset for node in seen.answering}
    for action in plan.actions:
        match action:
            case Promote(node):
                assert not seen.masters
                assert newest[node.pod] == max(newest.values())
            case Follow(node) if node.role == "master":
                assert plan.master is not None
                assert node.offset <= plan.master.offset
            case Replace(node) if node.role == "master":
                assert replicas == 1
            case _:
                pass
    assert len([action for action in plan.actions if isinstance(action, Replace | Failover | Reset)]) <= 1
