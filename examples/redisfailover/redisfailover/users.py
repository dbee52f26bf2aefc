"""ACL users of running servers: which ones they must have, and which they lose. Pure functions on plain data.

Users are not replicated, so every server gets them: at its start from a file that the operator writes, and while it
runs by a command. That Secret also records the accounts, with the digests of their passwords, and the names of users
that were removed but that a server may still have: users of other origin are never touched. A user whose Secret is
missing for a moment keeps the account that was recorded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from steersman import Model
from steersman.errors import DecodeError
from steersman.objects import decode_as, encode_json

from redisfailover.actions import Action, DropUsers, SetUsers
from redisfailover.observation import Goal, Observation


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the servers: the digest of the password, and what it may do, as ``ACL SETUSER`` takes it."""

    digest: str
    rules: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Arguments of ``ACL SETUSER`` after the name: nothing of an earlier account stays."""
        return ["reset", *self.definition]

    @property
    def definition(self) -> list[str]:
        """The same for a user that does not exist."""
        return ["on", f"#{self.digest}", *self.rules]


class _Content(Model):
    users: dict[str, list[str]] = {}
    leaving: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """The users that servers must have, and those that they may have although they were removed."""

    users: Mapping[str, Account] = field(default_factory=dict)
    leaving: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: bytes) -> "UserRecord":
        """Parse the content of the Secret; return an empty record if it is invalid."""
        try:
            found = decode_as(_Content, data)
        except DecodeError:
            return cls()
        users = {name: Account(words[0], tuple(words[1:])) for name, words in found.users.items() if words}
        return cls(users=users, leaving=tuple(found.leaving))

    def write(self) -> bytes:
        """Return the content of the Secret."""
        users = {name: [one.digest, *one.rules] for name, one in sorted(self.users.items())}
        return encode_json(_Content(users=users, leaving=sorted(self.leaving)))

    def lines(self) -> str:
        """Return the lines of the configuration that servers read at their start."""
        return "".join(f"user {name} {' '.join(one.definition)}\n" for name, one in sorted(self.users.items()))

    def with_wanted(self, wanted: Mapping[str, Account | None]) -> "UserRecord":
        """Return the record for the wanted users; ``None`` is one whose password is not known now."""
        known = {name: account or self.users.get(name) for name, account in wanted.items()}
        users = {name: account for name, account in known.items() if account is not None}
        return UserRecord(users=users, leaving=tuple(sorted({*self.users, *self.leaving} - users.keys())))

    def after(self, goal: Goal, seen: Observation) -> "UserRecord":
        """Return the record without removed users, once every server has responded and has none of them."""
        is_complete = len(seen.answering) >= goal.replicas
        if not is_complete or any(node.leaving_users for node in seen.answering):
            return self
        return replace(self, leaving=())


def user_steps(seen: Observation) -> tuple[Action, ...]:
    """Return the actions that bring the users of all servers in line."""
    missing = tuple(SetUsers(node) for node in seen.answering if node.missing_users)
    return (*missing, *(DropUsers(node) for node in seen.answering if node.leaving_users))


def parse_users(lines: Iterable[str]) -> dict[str, str]:
    """Parse the lines of ``ACL LIST``, keyed by the name of the user."""
    return {line.split(" ")[1]: line for line in lines}
