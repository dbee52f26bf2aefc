"""Users of the database, as the object says: which commands make them so. Pure.

A password cannot be read back. So each user of ours carries a seal, an HMAC of its password with the keyfile as key,
which tells nothing to a reader.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, TypeAlias

_SEAL = "mgors"
#: A user by its database and its name. An empty name stands for all of the database.
UserKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user that there shall be."""

    name: str
    db: str
    password: str
    #: (role, database)
    roles: frozenset[tuple[str, str]]

    def __repr__(self) -> str:
        """Show who it is, without the password."""
        return f"<Account {self.db}.{self.name}>"


@dataclass(frozen=True, slots=True)
class Command:
    """A command about a user, for its database."""

    db: str
    body: dict[str, Any]

    def __repr__(self) -> str:
        """Show what it does, without the password."""
        return f"<Command {next(iter(self.body))} in {self.db}>"


def commands(
    wanted: list[Account], existing: list[dict[str, Any]], keyfile: str, *, keep: frozenset[UserKey] = frozenset()
) -> list[Command]:
    """Return the commands that make users as they are wanted.

    Users that are not ours stay as they are, and so do those in ``keep``: they are wanted, only their password is not
    known now.
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
