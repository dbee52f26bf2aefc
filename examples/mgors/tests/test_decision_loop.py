"""Decisions in a loop with a model of mongod: every fault at every action of a start, an update and a change of size.

The model has a truth that decisions do not see: which writes were acknowledged by a majority. In each round members
exchange heartbeats, elect, replicate, a client writes, and the operator observes, decides and acts. Faults strike at
each action of the undisturbed run, right after the observation on which the action was decided. No pod is deleted that
is Ready and silent, nor one without which there was no majority when it was observed; in the end everything is as asked
for, and the primary has every write that was acknowledged.

What a round does, in the order of mongod: time passes for what is broken; configurations and terms spread between
members that see each other; a primary without a majority steps down; a majority without a primary elects the member
with the newest data; members copy the primary's oplog, and roll back what it does not have.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import pytest

from mgors.actions import Action, Add, Initiate, NoAction, Remove, Restart, SetHost, SetVotes, StepDown, Wait
from mgors.configuration import changed, first
from mgors.members import (
    Answered,
    Config,
    Gone,
    Lineage,
    OpTime,
    Peer,
    Reachability,
    Refused,
    Slot,
    State,
    TimedOut,
    View,
)
from mgors.plan import decide, pods_needed
from mgors.situation import Situation

FaultKind = Literal[
    "lost", "late", "twice", "restart", "hang", "node-down", "disk-lost", "hidden", "cut-off", "cut-off-with-operator"
]
Role = Literal["primary", "secondary"]
#: An entry of the oplog: (term, number).
Entry = tuple[int, int]
#: Rounds that a fault lasts, in which a phase must end, and in which a member that stepped down is not elected.
LASTS, MOST_ROUNDS, NOT_ELECTED = 4, 80, 6
#: The wanted members and the wanted revision of each phase.
PHASES = ((3, 1), (3, 2), (5, 2), (3, 2), (4, 2))


@dataclass(frozen=True)
class Fault:
    """One fault at one action."""

    kind: FaultKind
    action: int
    role: Role = "primary"

    def __str__(self) -> str:
        """Return the fault as plans of simulations are written."""
        return f"{self.kind}@{self.action},{self.role}"


@dataclass
class Member:
    """The true state of one mongod and its pod."""

    number: int
    revision: int
    pod: int = 0
    document: dict[str, Any] | None = None
    history: tuple[Entry, ...] = ()
    term: int = -1
    is_primary: bool = False
    #: Rounds until the process is up, responds, is reached by the operator, and by the other members.
    down_for: int = 0
    hangs_for: int = 0
    hidden_for: int = 0
    cut_for: int = 0
    not_elected_for: int = 0
    _read: tuple[dict[str, Any], Config] | None = None

    @property
    def newest(self) -> Entry:
        """The last entry of its oplog."""
        return self.history[-1] if self.history else (-1, 0)

    @property
    def config(self) -> Config | None:
        """Its configuration; a document is never changed, only replaced."""
        if self.document is None:
            return None
        if self._read is None or self._read[0] is not self.document:
            self._read = (self.document, Config.read(self.document))
        return self._read[1]

    @property
    def responds(self) -> bool:
        """Whether its process answers anyone."""
        return not self.down_for and not self.hangs_for

    @property
    def host(self) -> str:
        """Its address, which outlives its pods."""
        return f"m-{self.number}:27017"

    @property
    def state(self) -> State:
        """Its state, as mongod names it."""
        if self.config is None:
            return State.UNINITIALIZED
        if self.config.member(self.number) is None:
            return State.REMOVED
        if self.is_primary:
            return State.PRIMARY
        return State.SECONDARY if self.history else State.STARTUP2

    def restart(self, rounds: int = 1) -> None:
        """End the process, and start it again with the data on disk."""
        self.down_for, self.hangs_for, self.is_primary = rounds, 0, False

    def pass_time(self) -> None:
        """Get one round closer to the end of everything that is broken."""
        self.down_for, self.hangs_for = max(self.down_for - 1, 0), max(self.hangs_for - 1, 0)
        self.hidden_for, self.cut_for = max(self.hidden_for - 1, 0), max(self.cut_for - 1, 0)
        self.not_elected_for = max(self.not_elected_for - 1, 0)


@dataclass
class Model:
    """The members of one replica set, and a client."""

    members: list[Member] = field(default_factory=list)
    acknowledged: list[Entry] = field(default_factory=list)
    was_initiated: bool = False
    _written: int = 0

    # What members do.

    def sees(self, one: Member, other: Member) -> bool:
        """Return whether heartbeats between two members work."""
        return one is other or (one.responds and other.responds and not one.cut_for and not other.cut_for)

    def _seen_by(self, one: Member) -> list[Member]:
        return [other for other in self.members if self.sees(one, other)]

    def _has_majority(self, holders: list[Member], config: Config) -> bool:
        numbers = {one.number for one in holders}
        return 2 * sum(member.votes for member in config.members if member.number in numbers) > config.votes

    def pass_time(self) -> None:
        """Advance one round."""
        for one in self.members:
            one.pass_time()
        self._spread()
        for one in self.members:
            if one.is_primary and (
                one.config is None or not one.responds or not self._has_majority(self._seen_by(one), one.config)
            ):
                one.is_primary = False
        # Of equals the last one wins: it is the first to leave when the set shrinks.
        for one in sorted(self.members, key=lambda one: (one.newest, one.number), reverse=True):
            self._stand_for_election(one)
        self._spread()
        self._replicate()
        self._write()

    def _spread(self) -> None:
        """Exchange configurations and terms between members that see each other."""
        for one in self.members:
            for other in self._seen_by(one) if one.responds else []:
                theirs, own = other.config, one.config
                if theirs is not None and (
                    theirs.member(one.number) is not None if own is None else theirs.is_newer_than(own)
                ):
                    one.document = other.document
                if other.term > one.term and theirs is not None and theirs.member(one.number) is not None:
                    one.term, one.is_primary = other.term, False

    def _stand_for_election(self, one: Member) -> None:
        config = one.config
        if config is None or not one.responds or one.is_primary:
            return
        share = config.member(one.number)
        seen = self._seen_by(one)
        others = [other for other in seen if other is not one]
        if share is None or not share.votes or (one.not_elected_for and any(other.history for other in others)):
            return
        if any(other.is_primary and other.term >= one.term for other in others):
            return
        voters = [other for other in seen if other.newest <= one.newest and other.term <= one.term]
        if self._has_majority(voters, config):
            one.term += 1
            one.is_primary = True
            one.document = {**(one.document or {}), "term": one.term}
            one.history = (*one.history, (one.term, self._next()))
            for other in voters:
                other.term = one.term

    def _next(self) -> int:
        self._written += 1
        return self._written

    def _replicate(self) -> None:
        for source in sorted((one for one in self.members if one.is_primary), key=lambda one: one.term):
            for one in self._followers(source):
                one.history = source.history

    def _followers(self, source: Member) -> list[Member]:
        """Return the members that copy a primary's oplog: it lists them, and they know no later term."""
        config = source.config
        return [
            one
            for one in self._seen_by(source)
            if one is not source
            and config is not None
            and config.member(one.number) is not None
            and one.config is not None
            and one.term <= source.term
        ]

    def _write(self) -> None:
        """Write to each member that takes itself for the primary; a majority must have the write."""
        for source in [one for one in self.members if one.is_primary]:
            entry = (source.term, self._next())
            followers = self._followers(source)
            for one in (source, *followers):
                one.history = (*one.history, entry)
            if source.config is not None and self._has_majority([source, *followers], source.config):
                self.acknowledged.append(entry)

    # What the operator sees and does.

    def observe(self, wanted: int, revision: int) -> "Observation":
        """Return what the operator sees, and what is true at that moment."""
        slots = tuple(self._slot(one, wanted, revision) for one in self.members)
        self.was_initiated |= any(slot.config is not None for slot in slots)
        needed = frozenset(one.number for one in self.members if self._is_needed(one))
        terms = {one.number: one.newest[0] for one in self.members}
        return Observation(Situation(slots=slots, was_initiated=self.was_initiated), needed, terms)

    def _is_needed(self, one: Member) -> bool:
        """Return whether a member is a part of a majority that there is only with it."""
        if one.config is None or len(one.config.members) < 3:
            return False
        left = [other for other in self.members if other is not one and other.responds]
        return one.responds and not self._has_majority(left, one.config)

    def _slot(self, one: Member, wanted: int, revision: int) -> Slot:
        return Slot(
            number=one.number,
            pod=f"m-{one.number}",
            pod_uid=f"u-{one.number}-{one.pod}",
            host=one.host,
            is_wanted=one.number < wanted,
            is_stale=one.revision != revision,
            is_ready=not one.down_for,
            reach=self._reach(one),
            lineage=self._lineage(one),
        )

    def _reach(self, one: Member) -> Reachability:
        if one.hidden_for or one.hangs_for:
            return TimedOut()
        if one.down_for:
            return Refused() if one.number % 2 else Gone()
        config, (term, number) = one.config, one.newest
        if config is None:
            return Answered(View(state=State.UNINITIALIZED, version="6.0.5"))
        peers = tuple(self._peer(one, other) for other in self.members if other is not one)
        holders = [other for other in self._seen_by(one) if other.config == config]
        return Answered(
            View(
                state=one.state,
                config=config,
                is_committed=self._has_majority(holders, config),
                optime=OpTime(term, number),
                term=one.term,
                peers=tuple(peer for peer in peers if config.member(peer.number) is not None),
                voting=config.votes,
                version="6.0.5",
                compatibility="6.0" if one.is_primary else "",
            )
        )

    def _peer(self, one: Member, other: Member) -> Peer:
        if not self.sees(one, other):
            return Peer(number=other.number, state=State.DOWN, is_up=False)
        return Peer(number=other.number, state=other.state, term=other.newest[0])

    def _lineage(self, one: Member) -> Lineage | None:
        primary = next((other for other in self.members if other.is_primary), None)
        if primary is None or primary.config is None or primary.config.member(one.number) is not None:
            return None
        return Lineage.CONTAINED if one.newest in primary.history else Lineage.DIVERGED

    def execute(self, action: Action, observation: "Observation") -> None:
        """Carry out an action as far as the servers and the operator's own checks allow it."""
        match action:
            case Initiate(slot):
                self._initiate(self.members[slot.number])
            case SetHost() | Add() | Remove() | SetVotes():
                observation.check_change(action)
                self._reconfigure(action, observation.situation)
            case StepDown(slot):
                self._step_down(slot)
            case Restart(slot):
                self._delete_pod(slot, observation)
            case _:
                pass

    def _initiate(self, one: Member) -> None:
        if one.responds and one.document is None:
            settings = {"replicaSetId": self._next()}
            one.document = first(Initiate(self._slot(one, 9, one.revision)), "set", settings) | {"term": 0}
            one.term = 0

    def _reconfigure(self, action: SetHost | Add | Remove | SetVotes, situation: Situation) -> None:
        slot = situation.primary
        one = self.members[slot.number] if slot is not None and slot.number < len(self.members) else None
        if slot is None or one is None or not one.is_primary or one.config is None or one.config != slot.config:
            return  # the operator compares the configuration, and mongod changes it only on a primary
        holders = [other for other in self._seen_by(one) if other.config == one.config]
        if one.document is not None and self._has_majority(holders, one.config):
            one.document = changed(one.document, action) | {"term": one.term}

    def _step_down(self, slot: Slot) -> None:
        one = self.members[slot.number]
        if one.is_primary:
            one.is_primary, one.not_elected_for = False, NOT_ELECTED

    def _delete_pod(self, slot: Slot, observation: "Observation") -> None:
        if slot.number >= len(self.members):
            return
        one = self.members[slot.number]
        if slot.pod_uid != f"u-{one.number}-{one.pod}":
            return
        assert slot.view is not None or not slot.is_ready, f"{slot.pod} is Ready and does not respond: it may only hang"
        assert slot.number not in observation.needed, f"without {slot.pod} there is no majority"
        primary = observation.situation.primary
        is_alone = one.config is None or len(one.config.members) == 1
        assert is_alone or primary is None or slot.number != primary.number, f"{slot.pod} has not stepped down"
        one.pod += 1
        one.restart()


class Observation(NamedTuple):
    """What the operator knows when it decides, and what is true then: a fault after it cannot be known."""

    situation: Situation
    #: Members without which there is no majority.
    needed: frozenset[int]
    #: The term of the last entry of each member.
    terms: dict[int, int]

    def check_change(self, action: SetHost | Add | Remove | SetVotes) -> None:
        """Reject a change of members that mongod would not take, or that could cost a write, as things were known."""
        primary = self.situation.primary
        assert primary is not None
        assert primary.view is not None
        assert primary.view.is_committed, f"{action}: a majority does not have the last change yet"
        match action:
            case Remove(number, _):
                assert number != primary.number, "a primary cannot remove itself"
            case SetVotes(number, votes) if votes:
                assert self.terms[number] == self.terms[primary.number], f"m-{number} votes before it has caught up"
            case Add(slot, votes):
                assert slot.config is None or not votes, f"{slot.pod} votes before it has caught up"
            case _:
                pass


class Loop:
    """The operator and its replica set, round by round."""

    def __init__(self, fault: Fault | None = None) -> None:
        """Start with nothing."""
        self.model = Model()
        self._fault = fault
        #: The actions that were decided on, without waits.
        self.actions: list[Action] = []
        self._late: tuple[Action, Observation] | None = None
        #: Members whose pods are gone, by number: their claims stay.
        self._disks: dict[int, Member] = {}
        self._has_struck = False

    def run(self) -> None:
        """Run all phases, and compare the end with what was asked for."""
        for wanted, revision in PHASES:
            self._run_phase(wanted, revision)
            self._check(wanted, revision)
        assert self._has_struck or self._fault is None or self._fault.action >= len(self.actions), "no fault struck"

    def _run_phase(self, wanted: int, revision: int) -> None:
        for _ in range(MOST_ROUNDS):
            self._resize(wanted, revision)
            self.model.pass_time()
            observation = self.model.observe(wanted, revision)
            action = decide(observation.situation)
            assert not isinstance(action, Wait) or action.reason not in {"DataLost", "DivergedData"}, action
            if not isinstance(action, Wait | NoAction):
                self.actions.append(action)
                action = self._disturbed(action, observation)
            elif self._is_settled(action, wanted):
                return
            self.model.execute(action, observation)
            if self._late is not None:
                late, self._late = self._late, None
                self.model.pass_time()
                self.model.execute(*late)
        raise AssertionError(f"no end: {action}")

    def _resize(self, wanted: int, revision: int) -> None:
        members = self.model.members
        needed = pods_needed(self.model.observe(wanted, revision).situation, members=wanted, running=len(members))
        while len(members) < needed:
            number = len(members)
            members.append(self._disks.pop(number) if number in self._disks else Member(number, revision))
            members[-1].restart(2)
        for one in members[needed:]:
            listing = [other.host for other in members if other.is_primary and _lists(other, one)]
            assert not listing, f"the pod of m-{one.number} is removed, and {listing[0]} still lists it"
        self._disks |= {one.number: one for one in members[needed:]}
        del members[needed:]
        for one in members:
            if one.down_for:
                one.revision = revision  # the StatefulSet starts pods from its current template

    def _is_settled(self, action: Action, wanted: int) -> bool:
        is_well = all(one.responds and not one.hidden_for and not one.cut_for for one in self.model.members)
        return isinstance(action, NoAction) and is_well and len(self.model.members) == wanted

    def _disturbed(self, action: Action, observation: Observation) -> Action:
        """Apply the fault if this is its action; return what is left to be done."""
        fault = self._fault
        if fault is None or len(self.actions) != fault.action or self._has_struck:
            return action
        self._has_struck = True
        if fault.kind in _MESSAGES:
            self._late = (action, observation) if fault.kind != "lost" else None
            return action if fault.kind == "twice" else NoAction()
        chosen = self._chosen(fault.role)
        if chosen is not None and not self._would_lose_data(fault):
            _STRIKES[fault.kind](chosen, self.model)
        return action

    def _chosen(self, role: Role) -> Member | None:
        members = [one for one in self.model.members if one.is_primary == (role == "primary")]
        return members[-1] if members else None

    def _would_lose_data(self, fault: Fault) -> bool:
        """Return whether a disk has the only copy, so that nothing could save its data."""
        return fault.kind == "disk-lost" and sum(bool(one.history) for one in self.model.members) < 3

    def _check(self, wanted: int, revision: int) -> None:
        [primary] = [one for one in self.model.members if one.is_primary]
        assert primary.config is not None
        assert {member.number: member.votes for member in primary.config.members} == dict.fromkeys(range(wanted), 1)
        assert [one.revision for one in self.model.members] == [revision] * wanted
        lost = set(self.model.acknowledged) - set(primary.history)
        assert not lost, f"acknowledged, and lost: {sorted(lost)}"


def _lists(one: Member, other: Member) -> bool:
    """Return whether a member has another one in its configuration."""
    return one.config is not None and one.config.member(other.number) is not None


#: Faults of the command itself.
_MESSAGES = frozenset({"lost", "late", "twice"})


def _lose_disk(one: Member, _: Model) -> None:
    one.restart()
    one.document, one.history, one.term = None, (), -1


def _cut_off(one: Member, _: Model) -> None:
    one.cut_for = one.hidden_for = LASTS


def _cut_off_with_operator(one: Member, model: Model) -> None:
    one.cut_for = LASTS
    for other in model.members:
        other.hidden_for = LASTS if other is not one else 0


_STRIKES: dict[str, Callable[[Member, Model], None]] = {
    "restart": lambda one, _: one.restart(),
    "hang": lambda one, _: setattr(one, "hangs_for", LASTS),
    "node-down": lambda one, _: one.restart(LASTS),
    "disk-lost": _lose_disk,
    "hidden": lambda one, _: setattr(one, "hidden_for", LASTS),
    "cut-off": _cut_off,
    "cut-off-with-operator": _cut_off_with_operator,
}


def _faults(kind: FaultKind, count: int) -> Iterator[Fault]:
    for action in range(1, count + 1):
        roles = get_args(Role) if kind not in _MESSAGES else ("primary",)
        yield from (Fault(kind, action, role) for role in roles)


def test_a_start_an_update_and_a_change_of_size_need_no_luck() -> None:
    """The undisturbed run, whose actions are the steps at which faults strike."""
    loop = Loop()
    loop.run()
    kinds = [type(action).__name__ for action in loop.actions]
    assert kinds[:3] == ["Initiate", "Add", "Add"]
    assert kinds.count("Restart") == 3
    assert kinds.count("Remove") == 2
    assert len(loop.model.acknowledged) > len(loop.actions)


@pytest.mark.parametrize("kind", get_args(FaultKind))
def test_no_single_fault_loses_a_write_or_deletes_a_pod_that_may_be_alive(kind: FaultKind) -> None:
    """Each fault at each action; the assertions of the model hold in every round, those of the loop in the end."""
    undisturbed = Loop()
    undisturbed.run()
    for fault in _faults(kind, len(undisturbed.actions)):
        try:
            Loop(fault).run()
        except AssertionError as error:
            raise AssertionError(f"{fault}: {error}") from error
