"""What to do next about a replica set: the rules, without any I/O. One action at a time, and waiting is one.

- A set is begun only when every member says that it knows of none, and never twice.
- Who belongs to it is changed one by one, and not before the last change has a majority and all votes count.
- A configuration is forced only where the object allows it, after a while, and on the member with the newest data.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mgors.actions import (
    Action,
    Add,
    Force,
    Initiate,
    RaiseCompatibility,
    Remove,
    Rest,
    Restart,
    SetHost,
    SetVotes,
    StepDown,
    Wait,
)
from mgors.members import CAN_VOTE, MOST_VOTERS, Config, ConfigMember, Seat, State

#: Reasons for waiting that tell of trouble and not of patience.
DATA_LOST, QUORUM_LOST, FOREIGN_DATA = "DataLost", "QuorumLost", "ForeignData"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a decision depends on."""

    #: Every place that is wanted, and every pod that is there.
    seats: tuple[Seat, ...]
    is_paused: bool = False
    #: Whether this set was begun at some time.
    was_initiated: bool = False
    #: Whether a backup or a restore is at work.
    is_busy: bool = False
    #: Whether somebody is about to restore a set that lost everything.
    may_begin_anew: bool = False
    may_force: bool = False
    #: Seconds since there was last a majority.
    quorum_lost_for: float = 0.0
    #: Seconds that a majority has to come back before anything is forced.
    patience: float = 60.0

    @property
    def primary(self) -> Seat | None:
        """Whoever takes writes. A primary that was cut off may not know yet that it is none: the later term counts."""
        claims = [seat for seat in self.seats if seat.seen and seat.seen.state is State.PRIMARY]
        return max(claims, key=lambda seat: seat.seen.optime.term if seat.seen else -1, default=None)

    @property
    def config(self) -> Config | None:
        """The configuration that holds: the primary's, else the newest that anybody has."""
        if (primary := self.primary) is not None and primary.config is not None:
            return primary.config
        newest: Config | None = None
        for seat in self.seats:
            if seat.config is not None and (newest is None or seat.config.is_newer_than(newest)):
                newest = seat.config
        return newest

    @property
    def has_quorum(self) -> bool:
        """Whether enough voters answer to elect a primary."""
        config = self.config
        if config is None:
            return False
        seats = {seat.number: seat for seat in self.seats}
        answering = sum(member.votes for member in config.members if _can_vote(seats.get(member.number), member))
        return 2 * answering > config.votes


def _can_vote(seat: Seat | None, member: ConfigMember) -> bool:
    return seat is not None and seat.seen is not None and seat.seen.state in CAN_VOTE and seat.host == member.host


def decide(situation: Situation) -> Action:
    """Give the one thing to do next."""
    if situation.is_paused:
        return Rest()
    if situation.config is None:
        return _begin(situation)
    primary = situation.primary
    if primary is None or primary.config is None:
        return _without_primary(situation)
    return _with_primary(situation, primary, primary.config)


def _begin(situation: Situation) -> Action:
    silent = [seat.pod for seat in situation.seats if seat.seen is None]
    if stuck := _stuck(situation.seats):
        return Restart(stuck)
    if silent or not situation.seats:
        return Wait("PodsStarting", f"waiting for {', '.join(silent) or 'pods'}")
    if any(seat.seen and seat.seen.state is not State.UNINITIALIZED for seat in situation.seats):
        # A configuration is on its way to it: whoever sent that is who counts.
        return Wait("MembersStarting", "waiting for members to read their configuration")
    if situation.was_initiated and not situation.may_begin_anew:
        return Wait(DATA_LOST, "no member has any data left: restore a backup, by a MgorsRestore of this cluster")
    return Initiate(min(situation.seats, key=lambda seat: (seat.is_arbiter, seat.number)))


def _without_primary(situation: Situation) -> Action:
    if situation.has_quorum:
        return Wait("Electing", "members are electing a primary")
    if stuck := _stuck(situation.seats):
        return Restart(stuck)
    told = "no majority of the members answers"
    if not situation.may_force:
        return Wait(QUORUM_LOST, f"{told}; unsafe.forceReconfigOnLostQuorum would go on without it")
    if situation.quorum_lost_for < situation.patience:
        return Wait(QUORUM_LOST, f"{told}; it has {situation.patience:g} s to come back")
    left = [seat for seat in situation.seats if seat.config is not None and seat.host]
    holders = [seat for seat in left if not seat.is_arbiter and seat.seen and seat.seen.optime.term >= 0]
    if not holders:
        return Wait(QUORUM_LOST, f"{told}, and none that does has data")
    newest = max(holders, key=lambda seat: (seat.seen.optime if seat.seen else None, -seat.number))
    return Force(newest, (newest, *(seat for seat in left if seat is not newest)))


def _stuck(seats: Iterable[Seat]) -> Seat | None:
    """Find a pod that does not answer and is not as the object says: an image that was corrected must get its turn."""
    return next((seat for seat in seats if seat.is_stale and seat.seen is None), None)


def _with_primary(situation: Situation, primary: Seat, config: Config) -> Action:
    seen = primary.seen
    if seen is None or not seen.is_committed or seen.voting != config.votes:
        changing = Wait("MembershipChanging", "the last change of members is not complete: a vote does not count yet")
        return _give_up(situation, config) or changing if seen and seen.is_committed else changing
    return (
        _put_right(situation, config)
        or _shrink(situation, primary, config)
        or _share_votes(situation, config)
        or _grow(situation, config)
        or _replace(situation, primary, config)
        or _raise_compatibility(situation, primary)
        or Rest()
    )


def _give_up(situation: Situation, config: Config) -> Action | None:
    """Find a member that does not answer, is not wanted any more, and whose vote would be waited for in vain."""
    silent = {seat.number for seat in situation.seats if not seat.is_wanted and seat.seen is None}
    leaving = [member for member in config.members if member.number in silent]
    return Remove(leaving[-1].number, leaving[-1].host) if leaving else None


def _put_right(situation: Situation, config: Config) -> Action | None:
    """Find a member that is not where the configuration says."""
    hosts = {member.host: member.number for member in config.members}
    for seat in _wanted(situation):
        member = config.member(seat.number)
        if member is None or not seat.host or seat.seen is None or member.host == seat.host:
            continue
        if hosts.get(seat.host, seat.number) != seat.number:
            # Somebody else is listed there. This one makes room, and joins again afterwards.
            return Remove(member.number, member.host)
        return SetHost(seat)
    return None


def _shrink(situation: Situation, primary: Seat, config: Config) -> Action | None:
    """Find a member that is not wanted; the one with the highest number goes first."""
    wanted = {seat.number for seat in _wanted(situation)}
    unwanted = [member for member in config.members if member.number not in wanted]
    if not unwanted:
        return None
    leaving = max(unwanted, key=lambda member: member.number)
    if leaving.number == primary.number:
        return StepDown(primary, "it leaves the replica set")
    return Remove(leaving.number, leaving.host)


def votes_of(seat: Seat, seats: tuple[Seat, ...]) -> int:
    """Give a place its vote. There are seven at most, and arbiters have theirs first: they are for nothing else."""
    if seat.is_arbiter:
        return 1
    arbiters = sum(1 for other in seats if other.is_arbiter and other.is_wanted)
    return 1 if seat.number < MOST_VOTERS - arbiters else 0


def _share_votes(situation: Situation, config: Config) -> Action | None:
    changes = []
    for seat in _wanted(situation):
        member = config.member(seat.number)
        votes = votes_of(seat, situation.seats)
        if member is not None and member.votes != votes:
            changes.append(SetVotes(member.number, votes))
    # Votes are given up before others get them: there are never more than seven.
    return min(changes, key=lambda change: (change.votes, change.number), default=None)


def _grow(situation: Situation, config: Config) -> Action | None:
    missing = [seat for seat in _wanted(situation) if config.member(seat.number) is None]
    if stuck := _stuck(missing):
        return Restart(stuck)
    for seat in missing:
        if seat.seen is None or not seat.host:
            continue
        if seat.config is not None and seat.config.set_id != config.set_id:
            return Wait(FOREIGN_DATA, f"{seat.pod} has data of another replica set: empty its disk, and it joins")
        return Add(seat, votes_of(seat, situation.seats))
    if missing:
        return Wait("PodsStarting", f"waiting for {', '.join(seat.pod for seat in missing)}")
    return None


def _replace(situation: Situation, primary: Seat, config: Config) -> Action | None:
    """Find a pod that is not as the object says: never two at a time, never during a backup, the primary last."""
    members = [seat for seat in situation.seats if config.member(seat.number) is not None]
    sick = [seat for seat in members if not seat.is_healthy]
    stale = [seat for seat in members if seat.is_stale]
    if sick:
        if len(sick) == 1 and sick[0].is_stale and not situation.is_busy:
            return Restart(sick[0])  # it does nothing now, and its successor may
        names = ", ".join(seat.pod for seat in sick)
        return Wait("MembersNotReady", f"{names} not ready")
    if not stale:
        return None
    if situation.is_busy:
        return Wait("BackupRunning", "pods are replaced after the backup")
    others = [seat for seat in stale if seat.number != primary.number]
    if others:
        return Restart(max(others, key=lambda seat: seat.number))
    if sum(1 for seat in members if not seat.is_arbiter) > 1:
        return StepDown(primary, "its pod is replaced")
    return Restart(primary)


def _raise_compatibility(situation: Situation, primary: Seat) -> Action | None:
    versions = {_line(seat.seen.version) for seat in situation.seats if seat.seen and not seat.is_arbiter}
    now = primary.seen.compatibility if primary.seen else ""
    if situation.is_busy or len(versions) != 1 or not now:
        return None
    [version] = versions
    if version <= _line(now):
        return None
    return RaiseCompatibility(primary, f"{version[0]}.{version[1]}")


def _line(version: str) -> tuple[int, int]:
    """Give the release line of a version: (6, 0) of 6.0.5."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def _wanted(situation: Situation) -> list[Seat]:
    return [seat for seat in situation.seats if seat.is_wanted]


def pods_needed(situation: Situation, *, members: int, running: int) -> int:
    """Give how many pods there must be: one that still belongs to the set does not go."""
    if situation.is_paused:
        return 0
    config = situation.config
    if config is None:
        return max(members, running)
    listed = [member.number for member in config.members if member.number < running and not member.is_arbiter]
    return max([members, *(number + 1 for number in listed)])
