"""Entries of the oplog, translated to steps on staged collections."""

from typing import Any

import pytest

from mgors.errors import DamagedError
from mgors.replay import Change, Command, Translation
from mgors.staging import Names

NAMES = Names("t")


def steps(entry: dict[str, Any]) -> list[Change | Command]:
    """Return the steps of one entry."""
    return Translation(NAMES).steps(entry)


def command(body: dict[str, Any], db: str = "shop") -> dict[str, Any]:
    """Return the entry of a command."""
    return {"op": "c", "ns": f"{db}.$cmd", "ui": 1, "o": body}


def test_a_change_names_the_staged_collection_only() -> None:
    """By its UUID it would change the existing collection."""
    entry = {"op": "u", "ns": "shop.a.b", "ui": 1, "o": {"$v": 2}, "o2": {"_id": 1}, "ts": 1, "lsid": {}}
    wanted = {"op": "u", "ns": "shop.mgors-new.t.a.b", "o": {"$v": 2}, "o2": {"_id": 1}}
    assert steps(entry) == [Change(wanted)]


@pytest.mark.parametrize(
    "entry",
    [
        {"op": "n", "ns": "", "o": {"msg": "periodic noop"}},
        {"op": "i", "ns": "config.transactions", "o": {}},
        {"op": "u", "ns": "admin.system.users", "o": {}},
        {"op": "i", "ns": "shop.system.profile", "o": {}},
        command({"startIndexBuild": "a", "indexes": []}),
        command({"create": "transactions"}, "config"),
    ],
)
def test_entries_of_the_server_are_skipped(entry: dict[str, Any]) -> None:
    """They belong to the set that wrote them."""
    assert steps(entry) == []


def test_time_series_are_created_and_dropped_as_such() -> None:
    """The oplog only has their buckets."""
    create = {
        "create": "system.buckets.temps",
        "timeseries": {"timeField": "at"},
        "clusteredIndex": True,
        "validator": {},
    }
    [created] = steps(command(create))
    [dropped] = steps(command({"drop": "system.buckets.temps"}))
    assert isinstance(created, Command)
    assert isinstance(dropped, Command)
    assert created.body == {"create": "mgors-new.t.temps", "timeseries": {"timeField": "at"}}
    assert dropped.body == {"drop": "mgors-new.t.temps"}
    assert NAMES.staged("system.buckets.temps") == "system.buckets.mgors-new.t.temps"


def test_a_rename_stays_among_staged_collections() -> None:
    """The target that it dropped is known by its UUID only."""
    [found] = steps(command({"renameCollection": "shop.a", "to": "shop.b", "dropTarget": b"uuid"}))
    assert isinstance(found, Command)
    assert found.body == {
        "renameCollection": "shop.mgors-new.t.a",
        "to": "shop.mgors-new.t.b",
        "dropTarget": True,
    }


def test_a_large_transaction_is_applied_with_its_last_entry() -> None:
    """If the limit is in between, none of it is: it was not committed."""
    translation = Translation(NAMES)

    def part(number: int, **fields: Any) -> dict[str, Any]:
        return command({"applyOps": [{"op": "i", "ns": "shop.a", "o": {"_id": number}}], **fields}, "admin")

    assert translation.steps(part(1, partialTxn=True)) == []
    assert not translation.is_between_entries
    found = translation.steps(part(2, count=2))
    assert [step.operation["o"] for step in found if isinstance(step, Change)] == [{"_id": 1}, {"_id": 2}]
    assert translation.is_between_entries


@pytest.mark.parametrize(
    "entry", [command({"unknown": 1}), {"op": "zz", "ns": "a.b", "o": {}}, command({"applyOps": [], "prepare": True})]
)
def test_an_unknown_entry_fails_the_restore(entry: dict[str, Any]) -> None:
    """Without it the result would be wrong in silence."""
    with pytest.raises(DamagedError, match="cannot be replayed"):
        steps(entry)


@pytest.mark.parametrize("name", ["orders", "system.js", "system.views", "a.system"])
def test_a_staged_name_is_found_again_and_legal(name: str) -> None:
    """MongoDB rejects names with `.system.` in the middle."""
    staged = NAMES.staged(name)
    assert NAMES.original(staged) == name
    assert ".system." not in staged
    assert Names("other").original(staged) is None
