"""Decisions about the next actions, without any server."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redisfailover.actions import (
    Configure,
    Failover,
    Fence,
    Follow,
    Monitor,
    Promote,
    ReplacePod,
    Reset,
    SetSentinelOptions,
    StopMonitoring,
)
from redisfailover.decision import decide
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode

GOAL = Goal()
MASTER = Address("10.0.0.0", 6379)


def server(number: int, **changes: Any) -> RedisNode:
    """Return a server: by default the first is master and the others follow it."""
    role: dict[str, Any] = {"role": "slave", "follows": MASTER} if number else {"role": "master"}
    known = {"pod": f"rfr-a-{number}", "address": Address(f"10.0.0.{number}", 6379), "is_synced": True, "offset": 9}
    return RedisNode(**{**known, **role, **changes})


def sentinel(number: int, **changes: Any) -> SentinelNode:
    """Return a sentinel that by default knows all servers and sentinels."""
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
    """Return the healthy state with other servers."""
    changed = {node.pod: node for node in nodes}
    return replace(WELL, redis=tuple(changed.get(node.pod, node) for node in WELL.redis))


def with_sentinels(*nodes: SentinelNode) -> Observation:
    """Return the healthy state with other sentinels."""
    changed = {node.pod: node for node in nodes}
    return replace(WELL, sentinels=tuple(changed.get(node.pod, node) for node in WELL.sentinels))


def test_nothing_is_done_in_a_healthy_state() -> None:
    """No action is taken, and the conditions show that none is pending."""
    plan = decide(GOAL, WELL)
    assert plan.actions == ()
    assert plan.is_settled
    assert plan.conditions["Ready"].status is True
    assert plan.roles == {"rfr-a-0": "master", "rfr-a-1": "slave", "rfr-a-2": "slave"}


def test_a_server_that_follows_another_one_is_made_to_follow_the_master() -> None:
    """A server that has just started follows itself."""
    lost = server(2, follows=Address("10.0.0.2", 6379), is_synced=False)
    plan = decide(GOAL, with_redis(lost))
    assert plan.actions == (Follow(lost, MASTER),)
    assert plan.conditions["Ready"].reason == "NotSynced"


def test_a_sentinel_without_the_master_is_made_to_monitor_it() -> None:
    """A new sentinel, or one that monitors another server."""
    new = sentinel(1, watches=None)
    wrong = sentinel(2, watches=Address("10.0.0.7", 6379))
    assert decide(GOAL, with_sentinels(new, wrong)).actions == (Monitor(new, MASTER, 2), Monitor(wrong, MASTER, 2))


def test_the_quorum_follows_the_number_of_sentinels() -> None:
    """With the quorum of three, two of five sentinels could replace a master that the others reach."""
    seen = replace(WELL, sentinels=tuple(sentinel(number, others=4) for number in range(5)))
    actions = decide(replace(GOAL, sentinels=5), seen).actions
    assert actions == tuple(SetSentinelOptions(node, {"quorum": "3"}) for node in seen.sentinels)


def test_one_sentinel_at_a_time_forgets_removed_servers() -> None:
    """A sentinel knows no replicas for a moment; if all did, a failure in that moment would not be handled."""
    stale = [sentinel(number, others=3) for number in range(3)]
    [action] = decide(GOAL, with_sentinels(*stale)).actions
    assert isinstance(action, Reset)
    assert action.node == stale[0]
    assert decide(GOAL, with_sentinels(sentinel(0, replicas=0, others=0), stale[1])).actions == ()


def test_settings_change_in_running_servers() -> None:
    """A restart is not needed for settings that Redis can change."""
    other = server(1, drift={"maxmemory": "1gb"})
    assert decide(GOAL, with_redis(other)).actions == (Configure(other, {"maxmemory": "1gb"}),)


def test_a_rolling_update_takes_replicas_first_and_one_at_a_time() -> None:
    """The highest ordinal comes first, as StatefulSets do."""
    outdated = [server(number, is_current=False) for number in range(3)]
    assert decide(GOAL, with_redis(*outdated)).actions == (ReplacePod(outdated[2]),)


@pytest.mark.parametrize("trouble", [{"is_synced": False}, {"role": None}, {"drift": {"maxmemory": "1"}}])
def test_a_rolling_update_waits_for_every_server(trouble: dict[str, Any]) -> None:
    """Two missing servers at once are one too many."""
    actions = decide(GOAL, with_redis(server(1, **trouble), server(2, is_current=False))).actions
    assert not any(isinstance(action, ReplacePod) for action in actions)


def test_a_pod_that_cannot_start_is_replaced_after_a_correction() -> None:
    """A missing image was corrected: the rolling update would wait forever for the pod that cannot start."""
    stuck = server(2, role=None, is_stuck=True, is_current=False, problem="ErrImagePull")
    assert decide(GOAL, with_redis(stuck)).actions == (ReplacePod(stuck),)
    assert decide(GOAL, with_redis(replace(stuck, is_current=True))).actions == ()
    stuck_pods = [server(number, role=None, is_stuck=True, is_current=False) for number in range(3)]
    assert decide(GOAL, with_redis(*stuck_pods)).actions == (ReplacePod(stuck_pods[2]),)


def test_two_pods_are_never_replaced_at_once() -> None:
    """A pod that cannot start waits for the update that replaces another one; both were replaced once."""
    stuck = server(0, address=None, role=None, is_stuck=True, is_current=False)
    master = server(1, role="master", follows=None, is_current=False)
    found = decide(replace(GOAL, replicas=1, final_replicas=1), Observation(redis=(stuck, master), sentinels=()))
    assert [action for action in found.actions if isinstance(action, ReplacePod)] == [ReplacePod(stuck)]


def test_a_server_that_hangs_is_not_replaced_by_an_update() -> None:
    """It may be the master, with data that no other server has."""
    hanging = server(0, role=None, is_current=False, problem="does not respond")
    assert decide(GOAL, with_redis(hanging)).actions == ()


def test_the_master_hands_over_before_it_is_replaced() -> None:
    """The sentinels do it, because clients ask them; the master acknowledges no write that its successor lacks."""
    old = server(0, is_current=False)
    [action] = decide(GOAL, with_redis(old)).actions
    assert isinstance(action, Failover)
    assert action.fence == Fence(old, WELL.redis[1:], write_quorum=2)
    unaware = with_sentinels(sentinel(0, replicas=0))
    assert decide(GOAL, replace(unaware, redis=(old, *WELL.redis[1:]))).actions == ()


def test_a_master_to_be_removed_stays_fenced_until_it_is_demoted() -> None:
    """The failover may be in progress unobserved: without the fence it would acknowledge writes that get lost."""
    handing_over = server(0, is_current=False, write_quorum=2)
    for successor in (
        server(1),
        server(1, role="master", follows=None, history="b", previous_history="a", previous_history_end=9),
    ):
        actions = decide(GOAL, with_redis(handing_over, successor)).actions
        assert not any(isinstance(action, Configure) for action in actions)


@pytest.mark.parametrize("left", [server(0, write_quorum=2), server(1, write_quorum=2, is_current=False)])
def test_a_fence_that_is_no_longer_needed_is_removed(left: RedisNode) -> None:
    """After a hand-over, or if it was cancelled, one missing replica must not stop all writes."""
    assert Configure(left, {"min-replicas-to-write": "0"}) in decide(GOAL, with_redis(left)).actions


def test_a_fence_is_never_lower_than_the_users_setting() -> None:
    """``customConfig`` may require more replicas than exist."""
    asked = replace(GOAL, write_quorum=5)
    nodes = [server(number, write_quorum=5, is_current=bool(number)) for number in range(3)]
    [action] = decide(asked, with_redis(*nodes)).actions
    assert isinstance(action, Failover)
    assert action.fence is not None
    assert action.fence.write_quorum == 5


def test_a_single_server_is_replaced_without_a_hand_over() -> None:
    """There is no other server."""
    alone = server(0, is_current=False)
    seen = Observation(redis=(alone,), sentinels=tuple(sentinel(number, replicas=0) for number in range(3)))
    assert decide(replace(GOAL, replicas=1, final_replicas=1), seen).actions == (ReplacePod(alone),)


def test_a_master_beyond_the_wanted_replicas_hands_over_before_it_is_removed() -> None:
    """Scaling down removes the highest ordinal, which may be the master."""
    high = Address("10.0.0.2", 6379)
    nodes = (
        server(0, role="slave", follows=high),
        server(1, follows=high),
        server(2, role="master", follows=None),
    )
    seen = Observation(redis=nodes, sentinels=tuple(sentinel(number, watches=high) for number in range(3)))
    plan = decide(replace(GOAL, final_replicas=2), seen)
    [action] = plan.actions
    assert isinstance(action, Failover)


def test_a_pending_scale_down_is_reported() -> None:
    """The hand-over waits until the sentinels know all replicas, which can take a while."""
    plan = decide(replace(GOAL, final_replicas=2), with_sentinels(sentinel(0, replicas=1)))
    assert plan.actions == ()
    assert plan.conditions["Progressing"].reason == "ScalingDown"
    assert not plan.is_settled


def test_a_rejected_password_is_reported() -> None:
    """It must not look like a server that is down."""
    refusing = [server(number, role=None, problem="refuses the password: WRONGPASS") for number in range(3)]
    plan = decide(GOAL, with_redis(*refusing))
    assert plan.actions == ()
    assert plan.conditions["Ready"].reason == "WrongPassword"


def test_sentinels_monitor_the_external_master_only_if_allowed() -> None:
    """Sentinels that monitor it could make one of our servers its successor."""
    outside = Address("10.9.9.9", 6379)
    nodes = tuple(server(number, role="slave", follows=outside) for number in range(3))
    seen = Observation(redis=nodes, sentinels=(sentinel(0, watches=None),))
    assert decide(replace(GOAL, external_master=outside), seen).actions == ()
    fighting = replace(seen, sentinels=(sentinel(0),))
    assert decide(replace(GOAL, external_master=outside), fighting).actions == (StopMonitoring(fighting.sentinels[0]),)
    allowed = replace(GOAL, external_master=outside, watches_external=True)
    assert decide(allowed, seen).actions == (Monitor(seen.sentinels[0], outside, 2),)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Generate any state that could be observed."""
    addresses = [Address(f"10.0.0.{number}", 6379) for number in range(5)]
    any_address = st.sampled_from([None, *addresses])
    nodes = [
        RedisNode(
            pod=f"rfr-a-{number}",
            address=draw(st.sampled_from([None, addresses[number]])),
            is_current=draw(st.booleans()),
            is_stuck=draw(st.booleans()),
            role=draw(st.sampled_from(["master", "slave", None])),
            follows=draw(any_address),
            is_synced=draw(st.booleans()),
            offset=draw(st.integers(0, 3)),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    watchers = [
        sentinel(
            number,
            answers=draw(st.booleans()),
            watches=draw(any_address),
            replicas=draw(st.integers(0, 4)),
            others=draw(st.integers(0, 4)),
            is_down=draw(st.booleans()),
            is_failing_over=draw(st.integers(0, 4)) == 0,
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    long = st.sampled_from([0.0, 30.0, 100.0])
    return Observation(
        redis=tuple(nodes),
        sentinels=tuple(watchers),
        seconds_without_master=draw(long),
        seconds_with_several_masters=draw(long),
    )


@given(observations(), st.integers(1, 4))
def test_no_data_is_discarded_in_any_state(seen: Observation, replicas: int) -> None:
    """For every state: no second master is promoted, and no master follows one with older data."""
    plan = decide(replace(GOAL, replicas=replicas, final_replicas=replicas), seen)
    recency = {node.pod: node.offset for node in seen.answering}
    for action in plan.actions:
        match action:
            case Promote(node):
                assert not seen.masters
                assert recency[node.pod] == max(recency.values())
            case Follow(node) if node.role == "master":
                assert plan.master is not None
                assert node.offset <= plan.master.offset
            case ReplacePod(node) if node.role == "master":
                assert replicas == 1
            case _:
                pass
    assert len([action for action in plan.actions if isinstance(action, ReplacePod | Failover | Reset)]) <= 1
