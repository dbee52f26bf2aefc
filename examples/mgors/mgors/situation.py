"""Everything that a decision about a replica set depends on: pure data and functions."""

from dataclasses import dataclass

from mgors.consent import Consent, InvalidConsent
from mgors.members import CAN_VOTE, Config, NotAuthorised, Slot, State, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One observation of a replica set."""

    #: Every wanted slot, and every slot with a pod.
    slots: tuple[Slot, ...]
    is_paused: bool = False
    #: Whether this set was ever initiated.
    was_initiated: bool = False
    #: Whether a backup or a restore is running.
    is_busy: bool = False
    #: Whether a restore is waiting that can fill a set without data.
    may_start_empty: bool = False
    #: Whether the spec allows forced reconfigurations.
    may_force: bool = False
    consent: Consent | InvalidConsent | None = None
    #: The configuration, as (version, term), that this consent was used on.
    spent_at: tuple[int, int] | None = None
    #: Maximum feature compatibility version, such as 6.0; empty for the newest.
    held_compatibility: str = ""
    #: Seconds since there was last a majority.
    quorum_lost_for: float = 0.0
    #: Seconds that a majority has to return before anything is forced.
    patience: float = 60.0
    #: Seconds that a member may be behind while pods are replaced.
    max_lag: float = 10.0

    @property
    def claimants(self) -> list[Slot]:
        """The members that report to be primary."""
        return [slot for slot in self.slots if slot.view and slot.view.state is State.PRIMARY]

    @property
    def primary(self) -> Slot | None:
        """The member that accepts writes.

        A primary that was cut off may not know yet that it was replaced. So the latest term wins, and a claim is
        ignored if another member of its configuration has voted in a later term. Members outside of that configuration,
        such as those that were given up, are ignored.
        """
        newest = max(self.claimants, key=lambda slot: slot.view.optime.term if slot.view else -1, default=None)
        if newest is None or newest.view is None:
            return None
        own, config = max(newest.view.term, newest.view.optime.term), newest.config
        voters = [view for slot, view in self.views if config is not None and config.member(slot.number) is not None]
        return newest if all(view.term <= own for view in voters) else None

    @property
    def views(self) -> list[tuple[Slot, View]]:
        """The members that responded, with their reports."""
        return [(slot, slot.view) for slot in self.slots if slot.view is not None]

    @property
    def config(self) -> Config | None:
        """The configuration in effect: that of the primary, else the newest of any member."""
        if (primary := self.primary) is not None and primary.config is not None:
            return primary.config
        newest: Config | None = None
        for slot in self.slots:
            if slot.config is not None and (newest is None or slot.config.is_newer_than(newest)):
                newest = slot.config
        return newest

    @property
    def has_quorum(self) -> bool:
        """Whether a majority can elect a primary, by our connections or by the heartbeats of any member."""
        config = self.config
        if config is None:
            return False
        reached = {slot.number for slot in self.slots if _can_vote(slot, config)}
        return _is_majority(reached, config) or any(
            view.config is not None and _is_majority(_seen_by(slot, view), view.config) for slot, view in self.views
        )

    @property
    def can_lose_one(self) -> bool:
        """Whether there is a majority without any one of the working members; a single member has none to lose."""
        config = self.config
        if config is None or config.votes <= 1:
            return True
        working = [config.member(slot.number) for slot in self.slots if slot.is_healthy]
        return 2 * (sum(member.votes for member in working if member is not None) - 1) > config.votes

    @property
    def unseen_primary(self) -> tuple[Slot, int] | None:
        """A primary that responds to a member but not to the operator: (that member, number of the primary)."""
        silent = {slot.number for slot in self.slots if slot.view is None}
        listed = {slot.number for slot in self.slots}
        for slot, view in self.views:
            for peer in view.peers:
                is_hidden = peer.number in silent or peer.number not in listed
                if peer.is_up and peer.state is State.PRIMARY and is_hidden:
                    return slot, peer.number
        return None

    @property
    def unauthorised(self) -> list[Slot]:
        """The members that reject our credentials."""
        return [slot for slot in self.slots if isinstance(slot.reach, NotAuthorised)]

    def pod_of(self, number: int) -> str:
        """Return the name of a member's pod, or its number if it has no slot."""
        return next((slot.pod for slot in self.slots if slot.number == number), f"member {number}")

    def seen_up(self, number: int) -> Slot | None:
        """Return a member that receives heartbeats of this one."""
        for slot, view in self.views:
            if slot.number != number and any(peer.number == number and peer.is_up for peer in view.peers):
                return slot
        return None


def _can_vote(slot: Slot, config: Config) -> bool:
    member = config.member(slot.number)
    return member is not None and slot.view is not None and slot.view.state in CAN_VOTE and slot.host == member.host


def _seen_by(slot: Slot, view: View) -> set[int]:
    """Return the members that can vote according to one of them, including itself."""
    up = {peer.number for peer in view.peers if peer.is_up and peer.state in CAN_VOTE}
    return up | ({slot.number} if view.state in CAN_VOTE else set())


def _is_majority(numbers: set[int], config: Config) -> bool:
    return 2 * sum(member.votes for member in config.members if member.number in numbers) > config.votes
