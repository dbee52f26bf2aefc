"""Commands that lead to the wanted users."""

from typing import Any

from mgors.users import Account, commands

APP = Account(name="app", db="shop", password="one", roles=frozenset({("readWrite", "shop")}))  # noqa: S106 - a test's


def stored(account: Account, key: str = "key") -> dict[str, Any]:
    """Return a user as the database shows it after the command that creates it."""
    [command] = commands([account], [], key)
    roles = command.body["roles"]
    return {"user": account.name, "db": account.db, "roles": roles, "customData": command.body["customData"]}


def verbs(wanted: list[Account], existing: list[dict[str, Any]], key: str = "key") -> list[str]:
    """Return the names of the commands."""
    return [next(iter(command.body)) for command in commands(wanted, existing, key)]


def test_a_user_is_created_once() -> None:
    """A user that is already as wanted needs no command."""
    assert verbs([APP], []) == ["createUser"]
    assert verbs([APP], [stored(APP)]) == []


def test_a_changed_password_or_role_is_updated() -> None:
    """Passwords cannot be read back, so the user has a seal of it."""
    other = Account(name="app", db="shop", password="two", roles=APP.roles)  # noqa: S106 - a test's
    more = Account(name="app", db="shop", password="one", roles=frozenset({("read", "shop")}))  # noqa: S106 - a test's
    assert verbs([other], [stored(APP)]) == ["updateUser"]
    assert verbs([more], [stored(APP)]) == ["updateUser"]
    assert verbs([APP], [stored(APP)], key="another") == ["updateUser"]


def test_only_our_own_users_are_dropped() -> None:
    """Others may have been created by hand."""
    foreign = {"user": "eve", "db": "shop", "roles": []}
    assert verbs([], [stored(APP), foreign]) == ["dropUser"]


def test_a_user_whose_password_is_missing_for_now_stays() -> None:
    """Its Secret may be being replaced; connected applications must keep working."""
    keep = frozenset({("shop", "app")})
    assert commands([], [stored(APP)], "key", keep=keep) == []
    assert commands([], [stored(APP)], "key", keep=frozenset({("shop", "")})) == []


def test_a_password_is_not_shown_by_accident() -> None:
    """Neither in a log nor in the seal."""
    [command] = commands([APP], [], "key")
    assert "one" not in repr(APP) + repr(command) + str(command.body["customData"])
