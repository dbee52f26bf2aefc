"""How a password is changed on running servers and sentinels, without a restart. Rules on plain data.

A server accepts several passwords at a time, and so the change has three phases, each of which waits for all:

1. every server accepts the new password beside what it accepted before;
2. replicas use it towards their master, and sentinels towards all servers;
3. what is not asked for any more is not accepted any more. Connections that exist stay.

A set that had no password accepts any until the third phase. Nothing is remembered but the passwords that servers may
still have (`Record`): a Secret that was overwritten does not tell.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from steersman import Model
from steersman.errors import DecodeError
from steersman.objects import decode_as, encode_json

from redisfailover.actions import Accept, Action, Link, Require, Tell
from redisfailover.observation import Goal, Observation, RedisNode, SentinelNode


def digest(password: str) -> str:
    """Return how Redis shows a password."""
    return hashlib.sha256(password.encode()).hexdigest()


def password_steps(goal: Goal, seen: Observation) -> tuple[Action, ...]:
    """Return the next steps of a change of the password; none if everybody has it."""
    if unaware := [node for node in seen.answering if not node.accepts]:
        return tuple(Accept(node) for node in unaware)
    links = tuple(Link(node) for node in seen.answering if not node.links)
    tell = tuple(Tell(node) for node in seen.watchers if node.watches is not None and not node.has_password)
    if links or tell:
        return (*links, *tell)
    if not is_everybody_there(goal, seen):
        return ()  # one that is away may have only the old one
    return tuple(Require(node) for node in seen.answering if node.accepts_others)


def is_everybody_there(goal: Goal, seen: Observation) -> bool:
    """Return whether all servers and sentinels answer."""
    return len(seen.answering) >= goal.replicas and len(seen.watchers) >= goal.sentinels


def is_changed_everywhere(goal: Goal, seen: Observation) -> bool:
    """Return whether nobody needs an older password any more."""
    return is_everybody_there(goal, seen) and not password_steps(goal, seen)


class _Content(Model):
    passwords: list[str] = []
    sentinels: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The passwords that servers may have, and which one each sentinel was told: sentinels do not show theirs."""

    passwords: tuple[str, ...] = field(default=(), repr=False)
    #: By the uid of the sentinel's pod, as digests.
    sentinels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes) -> "Record":
        """Read the content of the Secret; one that cannot be read is as good as none."""
        try:
            found = decode_as(_Content, data)
        except DecodeError:
            return cls()
        return cls(passwords=tuple(found.passwords), sentinels=found.sentinels)

    def write(self) -> bytes:
        """Return the content of the Secret."""
        return encode_json(_Content(passwords=list(self.passwords), sentinels=dict(sorted(self.sentinels.items()))))

    def with_password(self, password: str) -> "Record":
        """Return the record with one more password: it is written down before anybody is told of it."""
        return self if password in self.passwords else replace(self, passwords=(*self.passwords, password))

    def with_sentinels(self, told: list[SentinelNode], present: list[SentinelNode], password: str) -> "Record":
        """Return the record after sentinels were told a password; those that are gone are forgotten."""
        uids = {node.uid for node in present}
        known = {uid: one for uid, one in self.sentinels.items() if uid in uids}
        return replace(self, sentinels=known | {node.uid: digest(password) for node in told})

    def judge(self, node: SentinelNode, password: str) -> SentinelNode:
        """Return a sentinel with whether it was told the password."""
        return replace(node, has_password=self.sentinels.get(node.uid, digest("")) == digest(password))

    def after(self, seen: Observation, told: list[SentinelNode], password: str, is_everywhere: bool) -> "Record":
        """Return the record after a look and the steps that followed."""
        if not self.passwords:
            return self
        found = self.with_sentinels(told, [*seen.sentinels], password)
        return replace(found, passwords=(password,)) if is_everywhere else found


def judged(node: RedisNode, acl: Mapping[str, object], link: Mapping[str, str], terms: tuple[str, str]) -> RedisNode:
    """Complete what is known of a server by ``ACL GETUSER default`` and by what it uses towards its master."""
    password, previous = terms
    flags, known = acl.get("flags"), acl.get("passwords")
    is_open = isinstance(flags, list) and "nopass" in flags
    accepted = set(known) if isinstance(known, list) else set()
    wanted = {digest(one) for one in (password, previous) if one}
    uses = (link.get("masterauth", ""), link.get("masteruser", ""))
    return replace(
        node,
        accepts=is_open or (bool(password) and digest(password) in accepted),
        accepts_others=bool(password) and (is_open or bool(accepted - wanted) or bool(wanted - accepted)),
        links=uses == (password, "default" if password else ""),
    )
