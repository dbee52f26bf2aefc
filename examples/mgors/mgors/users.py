"""Commands that create, change and drop the users of the database: pure functions.

A password cannot be read back. So each user of the operator has a seal in its custom data: an HMAC of its password with
the keyfile as key, which reveals nothing to a reader.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, TypeAlias

_SEAL = "mgors"
#: Database and name of a user. An empty name stands for all users of the database.
UserKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A wanted user."""

    name: str
    db: str
    password: str
    #: (role, database)
    roles: frozenset[tuple[str, str]]

    def __repr__(self) -> str:
        """Show the user without the password."""
        return f"<Account {self.db}.{self.name}>"


@dataclass(frozen=True, slots=True)
class Command:
    """A command on a user, and its database."""

    db: str
    body: dict[str, Any]

    def __repr__(self) -> str:
        """Show the command without the password."""
        return f"<Command {next(iter(self.body))} in {self.db}>"


def commands(
    wanted: list[Account], existing: list[dict[str, Any]], keyfile: str, *, keep: frozenset[UserKey] = frozenset()
) -> list[Command]:
    """Return the commands that lead to the wanted users.

    Users of others stay unchanged, and so do those in ``keep``: they are wanted, but their password is not known now.
    """
    there = {(user["db"], user["user"]): user for user in existing}
    found = []
    for account in wanted:
        user = there.get((account.db, account.name))
        seal = _seal(account, keyfile)
        if user is None:
            found.append(_written("createUser", account, seal))
        elif _roles(user) != account.roles or user.get("customData", {}).get(_SEAL) != seal:
            found.append(_written("updateUser", account, seal))
    kept = {(account.db, account.name) for account in wanted} | keep
    found += [
        Command(db, {"dropUser": name})
        for (db, name), user in there.items()
        if (db, name) not in kept and (db, "") not in kept and _SEAL in user.get("customData", {})
    ]
    return found


def _seal(account: Account, keyfile: str) -> str:
    text = f"{account.db}\0{account.name}\0{account.password}"
    return hmac.new(keyfile.encode(), text.encode(), hashlib.sha256).hexdigest()


def _roles(user: dict[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((role["role"], role["db"]) for role in user.get("roles", []))


def _written(verb: str, account: Account, seal: str) -> Command:
    roles = [{"role": role, "db": db} for role, db in sorted(account.roles)]
    body = {verb: account.name, "pwd": account.password, "roles": roles, "customData": {_SEAL: seal}}
    return Command(account.db, body)
