"""Translate entries of the oplog into steps on staged collections: pure functions.

A restore loads collections next to the existing ones, so entries are replayed there: every collection of an entry gets
the name of its staged copy. Changes of documents become operations of ``applyOps``, which applies them exactly as
members do. Other entries become the commands that led to them; an unknown one fails the restore.

Views are documents of ``system.views`` and are staged as such. Entries of the server's own databases are skipped, and
so are users and roles, which a restore takes from the backup.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mgors.errors import DamagedError
from mgors.staging import BUCKETS, Names

Entry: TypeAlias = Any  # a document of the oplog, whose nested documents are not decoded

_SKIPPED_DATABASES = frozenset({"local", "config", ""})
_PROFILE = "system.profile"
_NAMESPACE_NOT_FOUND, _INDEX_NOT_FOUND, _NAMESPACE_EXISTS = 26, 27, 48
#: Commands that only announce or end another one, or whose effect other entries have.
_WITHOUT_EFFECT = frozenset({"startIndexBuild", "abortIndexBuild", "dropDatabase"})


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one document, as ``applyOps`` takes it."""

    operation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """A command on staged collections. ``tolerated`` are the errors of one that was executed before."""

    db: str
    body: dict[str, Any]
    tolerated: tuple[int, ...] = ()


Step: TypeAlias = Change | Command


@dataclass(slots=True)
class Translation:
    """Translates entries in their order. Parts of a large transaction are kept until its last entry."""

    names: Names
    _parts: list[Entry] = field(default_factory=list)

    @property
    def is_between_entries(self) -> bool:
        """Whether no transaction is incomplete."""
        return not self._parts

    def steps(self, entry: Entry) -> list[Step]:
        """Return the steps of an entry."""
        db, _, name = str(entry["ns"]).partition(".")
        match entry["op"]:
            case "n":
                return []
            case "i" | "u" | "d":
                return self._change(db, name, entry)
            case "c" if "applyOps" in entry["o"]:
                return self._transaction(entry["o"])
            case "c" if _is_skipped(db, ""):
                return []
            case "c":
                return self._command(db, entry["o"])
            case unknown:
                raise DamagedError(f"entries {unknown!r} of the oplog, of {entry['ns']}, cannot be replayed")

    def _change(self, db: str, name: str, entry: Entry) -> list[Step]:
        if _is_skipped(db, name):
            return []
        kept = {key: entry[key] for key in ("op", "o", "o2", "b") if key in entry}
        return [Change({**kept, "ns": f"{db}.{self.names.staged(name)}"})]

    def _transaction(self, body: Any) -> list[Step]:
        if body.get("prepare"):
            raise DamagedError("the archived oplog has a prepared transaction, which cannot be replayed")
        self._parts.append(body)
        if body.get("partialTxn"):
            return []
        parts, self._parts = self._parts, []
        return [step for part in parts for entry in part["applyOps"] for step in self.steps(entry)]

    def _command(self, db: str, body: Any) -> list[Step]:
        name, target = next(iter(body.items()))
        if name in _WITHOUT_EFFECT:
            return []
        options = {key: value for key, value in body.items() if key != name}
        match name:
            case "renameCollection":
                return self._rename(target, options)
            case "create":
                return self._create(db, target, options)
            case "createIndexes":
                return self._indexes(db, target, [options])
            case "commitIndexBuild":
                return self._indexes(db, target, options["indexes"])
            case _:
                return [self._simple(db, name, target, options)]

    def _simple(self, db: str, name: str, target: str, options: dict[str, Any]) -> Command:
        """Return a command that is the same on the staged collection. Buckets are changed with their time series."""
        staged = self.names.staged(str(target).removeprefix(BUCKETS))
        match name:
            case "drop":
                return Command(db, {"drop": staged}, (_NAMESPACE_NOT_FOUND,))
            case "collMod":
                return Command(db, {"collMod": staged, **options})
            case "dropIndexes" | "deleteIndexes":
                body = {"dropIndexes": self.names.staged(target), "index": options["index"]}
                return Command(db, body, (_INDEX_NOT_FOUND,))
            case "emptycapped":
                return Command(db, {"emptycapped": staged})
            case _:
                raise DamagedError(f"the command {name} of the archived oplog, on {db}, cannot be replayed")

    def _rename(self, source: str, options: dict[str, Any]) -> list[Step]:
        (db, _, old), (other, _, new) = source.partition("."), str(options["to"]).partition(".")
        body = {
            "renameCollection": f"{db}.{self.names.staged(old)}",
            "to": f"{other}.{self.names.staged(new)}",
            "dropTarget": bool(options.get("dropTarget")),
        }
        return [Command("admin", body)]

    def _create(self, db: str, name: str, options: dict[str, Any]) -> list[Step]:
        kept = {key: value for key, value in options.items() if key not in ("idIndex", "temp", "autoIndexId")}
        if name.startswith(BUCKETS):
            # Its validator and its clustered index are created with a time series.
            kept = {key: kept[key] for key in ("timeseries", "expireAfterSeconds", "collation") if key in kept}
        body = {"create": self.names.staged(name.removeprefix(BUCKETS)), **kept}
        return [Command(db, body, (_NAMESPACE_EXISTS,))]

    def _indexes(self, db: str, name: str, indexes: Iterable[Any]) -> list[Step]:
        body = {"createIndexes": self.names.staged(name), "indexes": list(indexes), "commitQuorum": "majority"}
        return [Command(db, body)]


def _is_skipped(db: str, name: str) -> bool:
    return db in _SKIPPED_DATABASES or name == _PROFILE or (db == "admin" and name.startswith("system."))


def is_incomplete(entry: Entry) -> bool:
    """Return whether an entry is a part of a transaction that later entries complete."""
    return entry["op"] == "c" and bool(entry["o"].get("partialTxn"))
