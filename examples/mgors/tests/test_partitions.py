"""The rules against a model of the world: what is observed is derived from a truth that the rules never see.

The other property tests make up observations, so they know no more than the rules do. Here members have histories,
links between them break in one direction, the operator is on either side, keyfiles are wrong and kubelets report. The
laws are about the truth: what a majority has, who is alive, and what is lost.
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
    """One member, as it is."""

    number: int
    is_alive: bool
    state: State
    history: tuple[Entry, ...]
    term: int
    config: Config
    #: Whether its keyfile is ours.
    has_our_key: bool
    #: Whether the operator's packets get there.
    is_reached: bool
    #: The members whose packets get here.
    hears: frozenset[int]
    #: Whether its pod is of an older revision.
    is_stale: bool

    @property
    def newest(self) -> Entry:
        """The last entry of its history."""
        return self.history[-1] if self.history else (-1, 0)


@dataclass(frozen=True, slots=True)
class MongodTestbed:
    """All members, and who is primary of whom."""

    members: tuple[Truth, ...]

    def sees(self, one: Truth, other: Truth) -> bool:
        """Return whether heartbeats between two members are answered: both ways must be open."""
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
def worlds(draw: st.DrawFn) -> MongodTestbed:
    """Draw a set of three or five that was healthy once, and what has become of it."""
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
    testbed = MongodTestbed(tuple(members))
    if leader is not None:
        # A primary keeps its place only while a majority answers it, and those have heard of its term.
        group = {one.number for one in members if one.number == leader or testbed.sees(members[leader], one)}
        if 2 * len(group) <= count:
            members[leader] = replace(members[leader], state=State.SECONDARY)
        for number in group:
            members[number] = replace(members[number], term=2)
    return MongodTestbed(tuple(members))


def situation_of(testbed: MongodTestbed) -> Situation:
    """Return what follows from looking at the world, with every consent given."""
    everyone = frozenset(f"m-{one.number}" for one in testbed.members)
    return Situation(
        slots=testbed.observed(),
        was_initiated=True,
        may_force=True,
        consent=Consent(digest="a", without=everyone),
        quorum_lost_for=1e6,
    )


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_no_majority_is_forced_away_and_no_living_pod_is_deleted(testbed: MongodTestbed) -> None:
    """Whatever was consented to: the operator may be cut off, and the members that it reaches with it.

    What the dead have cannot be known; of all that live the newest data goes on, and everybody who lives is kept.
    """
    action = decide(situation_of(testbed))
    assert not isinstance(action, Initiate)
    if isinstance(action, Force):
        chosen, kept = testbed.members[action.slot.number], {slot.number for slot in action.keep}
        assert not testbed.alive_majority()
        assert all(one.number in kept for one in testbed.members if one.is_alive)
        assert all(one.newest <= chosen.newest for one in testbed.members if one.is_alive)
    if isinstance(action, Restart) and action.slot.view is None:
        assert not testbed.members[action.slot.number].is_alive


def test_a_force_is_possible_where_only_the_dead_are_missing() -> None:
    """The laws above would also hold for rules that never force."""
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
    assert isinstance(decide(situation_of(MongodTestbed((alone, *dead)))), Force)
    living = replace(dead[0], is_alive=True, is_reached=False, hears=frozenset({1}))
    assert not isinstance(decide(situation_of(MongodTestbed((alone, living, dead[1])))), Force)


@st.composite
def sets_after_a_force(draw: st.DrawFn) -> MongodTestbed:
    """Draw a survivor that was forced to go on alone, and members that return with what they have."""
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
    return MongodTestbed(tuple(members))


@settings(max_examples=100, deadline=None)
@given(sets_after_a_force())
def test_a_member_with_other_writes_never_joins_and_none_votes_at_once(testbed: MongodTestbed) -> None:
    """A vote of a member that crashes is one that the survivor misses."""
    action = decide(situation_of(testbed))
    assert not isinstance(action, SetVotes)
    if isinstance(action, Add):
        one, survivor = testbed.members[action.slot.number], testbed.members[0]
        assert action.votes == 0
        assert set(one.history) <= set(survivor.history)
