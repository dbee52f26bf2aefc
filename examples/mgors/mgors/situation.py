"""All that a decision about a replica set depends on, and what follows from it. Pure."""

from dataclasses import dataclass

from mgors.consent import Consent, InvalidConsent
from mgors.members import CAN_VOTE, Config, NotAuthorised, Slot, State, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One observation of a replica set."""

    #: Every slot that is wanted, and every pod that exists.
    slots: tuple[Slot, ...]
    is_paused: bool = False
    #: Whether this set was initiated at some time.
    was_initiated: bool = False
    #: Whether a backup or a restore is running.
    is_busy: bool = False
    #: Whether a restore waits that can fill a set that lost everything.
    may_start_empty: bool = False
    #: Whether the object allows forced reconfigurations at all.
    may_force: bool = False
    consent: Consent | InvalidConsent | None = None
    #: The configuration, as (version, term), that this consent was used on.
    spent_at: tuple[int, int] | None = None
    #: The feature compatibility version that must not be exceeded, as 6.0; empty if the newest is wanted.
    held_compatibility: str = ""
    #: Seconds since there was last a majority.
    quorum_lost_for: float = 0.0
    #: Seconds that a majority has to return before anything is forced.
    patience: float = 60.0

    @property
    def claimants(self) -> list[Slot]:
        """The members that call themselves primary."""
        return [slot for slot in self.slots if slot.view and slot.view.state is State.PRIMARY]

    @property
    def primary(self) -> Slot | None:
        """The member that takes writes.

        A primary that was cut off may not know yet that it is deposed. So the latest term counts, and a claim counts
        for nothing if another member of its configuration has voted in a later term. Members outside of it, such as
        those that were given up, have no say.
        """
        newest = max(self.claimants, key=lambda slot: slot.view.optime.term if slot.view else -1, default=None)
        if newest is None or newest.view is None:
            return None
        own, config = max(newest.view.term, newest.view.optime.term), newest.config
        voters = [view for slot, view in self.views if config is not None and config.member(slot.number) is not None]
        return newest if all(view.term <= own for view in voters) else None

    @property
    def views(self) -> list[tuple[Slot, View]]:
        """The members that answered, with what they say."""
        return [(slot, slot.view) for slot in self.slots if slot.view is not None]

    @property
    def config(self) -> Config | None:
        """The configuration in effect: the primary's, else the newest that any member has."""
        if (primary := self.primary) is not None and primary.config is not None:
            return primary.config
        newest: Config | None = None
        for slot in self.slots:
            if slot.config is not None and (newest is None or slot.config.is_newer_than(newest)):
                newest = slot.config
        return newest

    @property
    def has_quorum(self) -> bool:
        """Whether a majority can elect a primary, by what we reach or by what any member sees of the others."""
        config = self.config
        if config is None:
            return False
        reached = {slot.number for slot in self.slots if _can_vote(slot, config)}
        return _is_majority(reached, config) or any(
            view.config is not None and _is_majority(_seen_by(slot, view), view.config) for slot, view in self.views
        )

    @property
    def unseen_primary(self) -> tuple[Slot, int] | None:
        """A member that does not answer us and is primary in the eyes of one that does: (witness, number)."""
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
        """Return the name of a member's pod; one without a slot is called by its number."""
        return next((slot.pod for slot in self.slots if slot.number == number), f"member {number}")

    def seen_up(self, number: int) -> Slot | None:
        """Return a member whose heartbeats this one answers."""
        for slot, view in self.views:
            if slot.number != number and any(peer.number == number and peer.is_up for peer in view.peers):
                return slot
        return None


def _can_vote(slot: Slot, config: Config) -> bool:
    member = config.member(slot.number)
    return member is not None and slot.view is not None and slot.view.state in CAN_VOTE and slot.host == member.host


def _seen_by(slot: Slot, view: View) -> set[int]:
    """Return the members that can vote in the eyes of one of them, itself included."""
    up = {peer.number for peer in view.peers if peer.is_up and peer.state in CAN_VOTE}
    return up | ({slot.number} if view.state in CAN_VOTE else set())


def _is_majority(numbers: set[int], config: Config) -> bool:
    return 2 * sum(member.votes for member in config.members if member.number in numbers) > config.votes
