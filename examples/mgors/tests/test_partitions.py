"""Decisions on a model of a replica set with network partitions: observations are derived from a hidden truth.

The other property tests generate observations, so they know no more than the decisions do. Here members have histories,
links between them break in one direction, the operator is on either side, keyfiles are wrong and kubelets report. The
properties are about the truth: what a majority has, which members are alive, and what is lost.
"""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mgors.actions import Add, Force, Initiate, Restart, SetVotes
from mgors.consent import Consent
from mgors.members import (
    Answered,
    Config,
    ConfigMember,
    Gone,
    Lineage,
    NotAuthorised,
    OpTime,
    Peer,
    Reachability,
    Refused,
    Slot,
    State,
    TimedOut,
    View,
)
from mgors.plan import decide
from mgors.situation import Situation

#: An entry of the oplog: (term, number). Histories that differ once stay different.
Entry = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The true state of one member."""

    number: int
    is_alive: bool
    state: State
    history: tuple[Entry, ...]
    term: int
    config: Config
    #: Whether it has the keyfile of the operator.
    has_our_key: bool
    #: Whether packets of the operator arrive.
    is_reached: bool
    #: The members whose packets arrive.
    hears: frozenset[int]
    #: Whether its pod is of an older revision.
    is_stale: bool

    @property
    def newest(self) -> Entry:
        """The last entry of its history."""
        return self.history[-1] if self.history else (-1, 0)


@dataclass(frozen=True, slots=True)
class ReplicaSetModel:
    """All members, and what they see of each other."""

    members: tuple[Truth, ...]

    def sees(self, one: Truth, other: Truth) -> bool:
        """Return whether heartbeats between two members work: both directions must be open."""
        return other.is_alive and other.number in one.hears and one.number in other.hears

    def alive_majority(self) -> bool:
        """Return whether members that see each other are a majority and can elect, or have elected, a primary."""
        for one in self.members:
            if one.is_alive:
                group = [other for other in self.members if other is one or self.sees(one, other)]
                if 2 * len(group) > len(self.members):
                    return True
        return False

    def observed(self) -> tuple[Slot, ...]:
        """Return what the operator and the kubelets find out."""
        return tuple(self._slot(one) for one in self.members)

    def _slot(self, one: Truth) -> Slot:
        return Slot(
            number=one.number,
            pod=f"m-{one.number}",
            pod_uid=f"u-{one.number}",
            host=host(one.number),
            is_stale=one.is_stale,
            is_ready=one.is_alive,  # the kubelet is right; when it is not, its pods are not Ready
            reach=self._reach(one),
            lineage=self._lineage(one),
        )

    def _reach(self, one: Truth) -> Reachability:
        if not one.is_reached:
            return TimedOut()
        if not one.is_alive:
            return Refused() if one.number % 2 else Gone()
        if not one.has_our_key:
            return NotAuthorised()
        term, number = one.newest
        peers = tuple(self._peer(one, other) for other in self.members if other is not one)
        view = View(state=one.state, config=one.config, optime=OpTime(term, number), term=one.term, peers=peers)
        return Answered(replace(view, voting=one.config.votes, version="6.0.5", compatibility="6.0"))

    def _peer(self, one: Truth, other: Truth) -> Peer:
        if not self.sees(one, other):
            return Peer(number=other.number, state=State.DOWN, is_up=False)
        return Peer(number=other.number, state=other.state, term=other.newest[0])

    def _lineage(self, one: Truth) -> Lineage | None:
        primary = next((other for other in self.members if other.state is State.PRIMARY and other.is_alive), None)
        if primary is None or primary.config.member(one.number) is not None:
            return None
        return Lineage.CONTAINED if one.newest in primary.history else Lineage.DIVERGED


def host(number: int) -> str:
    """Return the address of a member."""
    return f"10.0.0.{number}:27017"


def config_of(count: int, term: int) -> Config:
    """Return a configuration of the first members."""
    members = tuple(ConfigMember(number=number, host=host(number)) for number in range(count))
    return Config(version=5, term=term, members=members, set_id="a")


@st.composite
def models(draw: st.DrawFn) -> ReplicaSetModel:
    """Generate a set of three or five members that was healthy once, with faults."""
    count = draw(st.sampled_from([3, 5]))
    common = tuple((1, number) for number in range(1, draw(st.integers(1, 4)) + 1))
    leader = draw(st.integers(0, count - 1) | st.none())
    members = []
    for number in range(count):
        is_leader = number == leader
        own = draw(st.sampled_from([(), ((1, 8),), ((1, 8), (2, 9))]))
        history = (*common, (2, 7), *own[:1]) if is_leader else common[: draw(st.integers(1, len(common)))] + own
        members.append(
            Truth(
                number=number,
                is_alive=is_leader or draw(st.booleans()),
                state=State.PRIMARY if is_leader else State.SECONDARY,
                history=history,
                term=max(entry[0] for entry in history),
                config=config_of(count, 1),
                has_our_key=draw(st.sampled_from([True, True, True, False])),
                is_reached=draw(st.booleans()),
                hears=frozenset(draw(st.sets(st.integers(0, count - 1), min_size=1))),
                is_stale=draw(st.booleans()),
            )
        )
    model = ReplicaSetModel(tuple(members))
    if leader is not None:
        # A primary stays primary only while a majority responds, and these members know its term.
        group = {one.number for one in members if one.number == leader or model.sees(members[leader], one)}
        if 2 * len(group) <= count:
            members[leader] = replace(members[leader], state=State.SECONDARY)
        for number in group:
            members[number] = replace(members[number], term=2)
    return ReplicaSetModel(tuple(members))


def situation_of(model: ReplicaSetModel) -> Situation:
    """Return the observation of a model, with consent to give up any member."""
    everyone = frozenset(f"m-{one.number}" for one in model.members)
    return Situation(
        slots=model.observed(),
        was_initiated=True,
        may_force=True,
        consent=Consent(digest="a", without=everyone),
        quorum_lost_for=1e6,
    )


@settings(max_examples=300, deadline=None)
@given(models())
def test_no_living_majority_is_given_up_and_no_living_pod_deleted(model: ReplicaSetModel) -> None:
    """Even with consent: the operator may be cut off, together with the members that it reaches.

    The data of dead members cannot be known; of those alive the newest data is kept, and all of them stay members.
    """
    action = decide(situation_of(model))
    assert not isinstance(action, Initiate)
    if isinstance(action, Force):
        chosen, kept = model.members[action.slot.number], {slot.number for slot in action.keep}
        assert not model.alive_majority()
        assert all(one.number in kept for one in model.members if one.is_alive)
        assert all(one.newest <= chosen.newest for one in model.members if one.is_alive)
    if isinstance(action, Restart) and action.slot.view is None:
        assert not model.members[action.slot.number].is_alive


def test_a_force_is_possible_if_only_dead_members_are_missing() -> None:
    """The property above would also hold if nothing was ever forced."""
    alone = Truth(
        number=0,
        is_alive=True,
        state=State.SECONDARY,
        history=((1, 1),),
        term=1,
        config=config_of(3, 1),
        has_our_key=True,
        is_reached=True,
        hears=frozenset({0, 1, 2}),
        is_stale=False,
    )
    dead = [replace(alone, number=number, is_alive=False) for number in (1, 2)]
    assert isinstance(decide(situation_of(ReplicaSetModel((alone, *dead)))), Force)
    living = replace(dead[0], is_alive=True, is_reached=False, hears=frozenset({1}))
    assert not isinstance(decide(situation_of(ReplicaSetModel((alone, living, dead[1])))), Force)


@st.composite
def sets_after_a_force(draw: st.DrawFn) -> ReplicaSetModel:
    """Generate a survivor that was forced to continue alone, and members that return with their data."""
    common = ((1, 1), (1, 2))
    survivor = (*common, (2, 5))
    forced = replace(config_of(1, 2), version=50_000)
    everyone = frozenset(range(3))
    returning = st.sampled_from([common[:1], common, (*common, (1, 3)), (*common, (1, 3), (1, 4)), survivor])
    first = Truth(
        number=0,
        is_alive=True,
        state=State.PRIMARY,
        history=survivor,
        term=2,
        config=forced,
        has_our_key=True,
        is_reached=True,
        hears=everyone,
        is_stale=False,
    )
    old = replace(config_of(3, 1), version=7)
    members = [first]
    for number in (1, 2):
        state = draw(st.sampled_from([State.REMOVED, State.SECONDARY]))
        members.append(replace(first, number=number, state=state, history=draw(returning), term=1, config=old))
    return ReplicaSetModel(tuple(members))


@settings(max_examples=100, deadline=None)
@given(sets_after_a_force())
def test_a_member_with_other_writes_never_joins_and_none_votes_at_once(model: ReplicaSetModel) -> None:
    """The vote of a member that crashes would be missing in the majority."""
    action = decide(situation_of(model))
    assert not isinstance(action, SetVotes)
    if isinstance(action, Add):
        one, survivor = model.members[action.slot.number], model.members[0]
        assert action.votes == 0
        assert set(one.history) <= set(survivor.history)
