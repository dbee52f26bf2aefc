"""Change the password of running servers and sentinels without a restart: pure functions on plain data.

A server can accept several passwords, so the change has three phases. Each waits until the one before it is complete:

1. every server accepts the new password in addition to the old one;
2. replicas authenticate with it at their master, and sentinels at all servers;
3. servers stop accepting the old password. Existing connections stay.

Servers without a password accept any until the third phase. The only stored state is the list of passwords that servers
may still have (`PasswordRecord`), because a Secret that was overwritten no longer contains the old one.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from steersman import Model
from steersman.errors import DecodeError
from steersman.objects import decode_as, encode_json

from redisfailover.actions import AcceptPassword, Action, RequirePassword, SetSentinelPassword, UsePassword
from redisfailover.observation import Goal, Observation, RedisNode, SentinelNode


def digest(password: str) -> str:
    """Return the hash by which Redis shows a password."""
    return hashlib.sha256(password.encode()).hexdigest()


def password_steps(goal: Goal, seen: Observation) -> tuple[Action, ...]:
    """Return the next actions of a password change; none if it is complete."""
    if unaware := [node for node in seen.answering if not node.accepts_password]:
        return tuple(AcceptPassword(node) for node in unaware)
    at_master = tuple(UsePassword(node) for node in seen.answering if not node.uses_password)
    at_servers = tuple(
        SetSentinelPassword(node) for node in seen.watchers if node.watches is not None and not node.has_password
    )
    if at_master or at_servers:
        return (*at_master, *at_servers)
    if not is_complete(goal, seen):
        return ()  # a server that does not respond may have only the old password
    return tuple(RequirePassword(node) for node in seen.answering if node.accepts_other_passwords)


def is_complete(goal: Goal, seen: Observation) -> bool:
    """Return whether all servers and sentinels respond."""
    return len(seen.answering) >= goal.replicas and len(seen.watchers) >= goal.sentinels


def is_password_changed(goal: Goal, seen: Observation) -> bool:
    """Return whether no server or sentinel needs an older password."""
    return is_complete(goal, seen) and not password_steps(goal, seen)


class _Content(Model):
    passwords: list[str] = []
    sentinels: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordRecord:
    """The passwords that servers may have, and the one that each sentinel was given: sentinels do not show theirs."""

    passwords: tuple[str, ...] = field(default=(), repr=False)
    #: Digests, keyed by the uid of the sentinel's pod.
    sentinels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes) -> "PasswordRecord":
        """Parse the content of the Secret; return an empty record if it is invalid."""
        try:
            found = decode_as(_Content, data)
        except DecodeError:
            return cls()
        return cls(passwords=tuple(found.passwords), sentinels=found.sentinels)

    def write(self) -> bytes:
        """Return the content of the Secret."""
        return encode_json(_Content(passwords=list(self.passwords), sentinels=dict(sorted(self.sentinels.items()))))

    def with_password(self, password: str) -> "PasswordRecord":
        """Return the record with one more password. It must be saved before a server gets the password."""
        return self if password in self.passwords else replace(self, passwords=(*self.passwords, password))

    def with_sentinels(
        self, informed: list[SentinelNode], present: list[SentinelNode], password: str
    ) -> "PasswordRecord":
        """Return the record after sentinels were given a password, without removed sentinels."""
        uids = {node.uid for node in present}
        known = {uid: one for uid, one in self.sentinels.items() if uid in uids}
        return replace(self, sentinels=known | {node.uid: digest(password) for node in informed})

    def with_password_state(self, node: SentinelNode, password: str) -> SentinelNode:
        """Return the sentinel with ``has_password`` set."""
        return replace(node, has_password=self.sentinels.get(node.uid, digest("")) == digest(password))

    def after(
        self, seen: Observation, informed: list[SentinelNode], password: str, is_everywhere: bool
    ) -> "PasswordRecord":
        """Return the record after a reconcile."""
        if not self.passwords:
            return self
        found = self.with_sentinels(informed, [*seen.sentinels], password)
        return replace(found, passwords=(password,)) if is_everywhere else found


def with_password_state(
    node: RedisNode, acl: Mapping[str, object], link: Mapping[str, str], passwords: tuple[str, str]
) -> RedisNode:
    """Return the server with its passwords, as ``ACL GETUSER default`` and its settings for its master show them."""
    password, previous = passwords
    flags, known = acl.get("flags"), acl.get("passwords")
    is_open = isinstance(flags, list) and "nopass" in flags
    accepted = set(known) if isinstance(known, list) else set()
    wanted = {digest(one) for one in (password, previous) if one}
    uses = (link.get("masterauth", ""), link.get("masteruser", ""))
    return replace(
        node,
        accepts_password=is_open or (bool(password) and digest(password) in accepted),
        accepts_other_passwords=bool(password) and (is_open or bool(accepted - wanted) or bool(wanted - accepted)),
        uses_password=uses == (password, "default" if password else ""),
    )
