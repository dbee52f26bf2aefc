"""Replay the archived oplog on the staged collections of a restore, up to a moment.

Changes of documents and the position after them are written in one atomic ``applyOps``, so an interrupted replay
continues exactly there: no change is applied twice or left out, and an update of a document that does not exist is an
error. Commands are repeatable, and their position is written after them.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from bson import Timestamp, decode_all, json_util
from pymongo.errors import OperationFailure

from mgors.archive_store import ArchiveStore
from mgors.connections import Member
from mgors.dump import RAW, collection_of, is_left_out, write_documents
from mgors.errors import DamagedError
from mgors.manifest import Collection, Kind, Manifest, batches, write_manifest
from mgors.oplog import Position, Slice, chain
from mgors.replay import Change, Command, Step, Translation
from mgors.staging import BUCKETS, STAGED, VIEWS, Names

_MAJORITY: dict[str, Any] = {"writeConcern": {"w": "majority", "wtimeout": 60_000}}
#: Maximum number of changes, and of their bytes, in one ``applyOps``.
_CHANGES, _BYTES = 1_000, 4_000_000
_NAMESPACE_NOT_FOUND, _NAMESPACE_EXISTS = 26, 48
#: Errors that a retry would not mend: BadValue, FailedToParse, TypeMismatch, IllegalOperation, NamespaceNotFound,
#: IndexNotFound, NamespaceExists, CommandNotFound, CannotCreateIndex, InvalidOptions, InvalidNamespace,
#: IndexOptionsConflict, IndexKeySpecsConflict, OperationFailed, UpdateOperationFailed, DocumentValidationFailure and
#: DuplicateKey.
_FINAL = frozenset({2, 9, 14, 20, 26, 27, 48, 59, 67, 72, 73, 85, 86, 96, 117, 121, 11000})
_TEMPORARY_NAMES = ("tmp.agg_out.", "tmp.mr.")


@dataclass(frozen=True, slots=True)
class Replayed:
    """Progress of a replay."""

    is_complete: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """A replay on the primary, after the backup was loaded."""

    primary: Member
    archive: ArchiveStore
    base: Manifest
    tag: str
    #: Entries before this position are replayed.
    limit: Position

    async def step(self) -> Replayed:
        """Replay one slice."""
        progress = await self._read() or await self._prepare()
        slices = chain(await self.archive.slices(), progress.at, self.limit)
        if not slices:
            return Replayed(is_complete=True, text=f"replayed up to {self.limit.described()}")
        file = await self.archive.load(slices[0])
        run = _Run(self, progress, Translation(Names(self.tag)))
        await run.replay(file, slices[0])
        text = f"replayed up to {progress.at.described()}, {len(slices) - 1} more slices"
        return Replayed(is_complete=len(slices) == 1, text=text)

    async def _read(self) -> "_Progress | None":
        found = await self.primary.mongo.admin[self.progress_name].find_one({"_id": 1})
        if found is None:
            return None
        return _Progress(Position(found["at"].time, found["at"].inc), int(found["steps"]), is_resumed=True)

    @property
    def progress_name(self) -> str:
        """Collection of the database admin with the position of the replay."""
        return f"{STAGED}{self.tag}"

    async def _prepare(self) -> "_Progress":
        """Add to the loaded collections what a restore otherwise adds when it swaps them."""
        for db in self.base.databases:
            views = [one for one in self.base.collections if one.db == db and one.kind == "view"]
            await self._prepare_views(db, views)
        for one in self.base.collections:
            await self._prepare_collection(one)
        await self.command(Command("admin", {"create": self.progress_name}, (_NAMESPACE_EXISTS,)))
        progress = _Progress(Position.parse(self.base.at))
        await self.apply([], progress)
        return progress

    async def _prepare_views(self, db: str, views: list[Collection]) -> None:
        name = Names(self.tag).staged(VIEWS)
        await self.command(Command(db, {"create": name}, (_NAMESPACE_EXISTS,)))
        definitions = [{"_id": one.place, **json_util.loads(one.options)} for one in views]
        operations = [{"op": "i", "ns": f"{db}.{name}", "o": one} for one in definitions]
        if operations:
            await self._apply_ops(operations, is_lenient=True)

    async def _prepare_collection(self, one: Collection) -> None:
        name = Names(self.tag).staged(one.name)
        if one.kind == "timeseries":
            indexes = [index for index in json_util.loads(one.indexes) if not index.get("clustered")]
            if indexes:
                await self.command(Command(one.db, {"createIndexes": name, "indexes": indexes}))
        seconds = json_util.loads(one.options).get("expireAfterSeconds")
        if seconds is not None:
            await self.command(Command(one.db, {"collMod": name, "expireAfterSeconds": seconds}))

    # Writes.

    async def apply(self, changes: list[dict[str, Any]], progress: "_Progress") -> None:
        """Apply changes together with the position after them."""
        at = Timestamp(progress.at.seconds, progress.at.counter)
        document = {"_id": 1, "at": at, "steps": progress.steps}
        mark = {"op": "i", "ns": f"admin.{self.progress_name}", "o": document}
        usable = Position.parse(self.base.usable_from or self.base.at)
        # Capped collections were read after the snapshot, and may lack documents that are updated before that.
        await self._apply_ops([*changes, mark], is_lenient=progress.at.place <= usable.place)

    async def _apply_ops(self, operations: list[dict[str, Any]], *, is_lenient: bool) -> None:
        await self.command(Command("admin", {"applyOps": operations, "alwaysUpsert": is_lenient}))

    async def command(self, command: Command, *tolerated: int) -> None:
        """Run a command; an error that a retry would not mend is raised as `DamagedError`."""
        name = next(iter(command.body))
        run = partial(self.primary.mongo[command.db].command, {**command.body, **_MAJORITY})
        try:
            await self.primary.change(f"replay {name}", run)
        except OperationFailure as failure:
            if failure.code in (*command.tolerated, *tolerated):
                return
            if failure.code not in _FINAL:
                raise
            text = str(failure).partition(", full error")[0]
            raise DamagedError(f"an entry of the archived oplog cannot be replayed: {name}: {text}") from failure

    def is_too_early(self, operation: dict[str, Any], at: Position) -> bool:
        """Return whether a change of a capped collection was there when the collection was read."""
        names = Names(self.tag)
        for one in self.base.collections:
            if one.since and operation["ns"] == f"{one.db}.{names.staged(one.name)}":
                return at.place <= Position.parse(one.since).place
        return False

    # The result.

    async def capture(self, folder: Path, base_folder: Path) -> tuple[Manifest, str]:
        """Describe the staged collections as a backup; write files for those that cannot be renamed."""
        _empty(folder)
        found: list[Collection] = []
        for db in sorted(await self.primary.mongo.list_database_names()):
            async for info in await self.primary.mongo[db].list_collections():
                found += await self._captured(db, info, folder)
        for one in self.base.collections:
            if one.kind in ("users", "roles"):
                shutil.copyfile(base_folder / one.file, folder / one.file)
                found.append(one)
        found.sort(key=lambda one: (one.kind in ("users", "roles"), one.db, one.name))
        manifest = Manifest(collections=found, at=str(self.limit))
        return manifest, write_manifest(manifest, folder)

    async def _captured(self, db: str, info: dict[str, Any], folder: Path) -> list[Collection]:
        name = Names(self.tag).original(str(info["name"]))
        if name is None or name.startswith(_TEMPORARY_NAMES) or is_left_out(db, name):
            return []
        if name == VIEWS:
            return [one async for one in self._views(db)]
        kind: Kind = "timeseries" if info["type"] == "timeseries" else "collection"
        one = await collection_of(self.primary.mongo, db, info, kind)
        source, one.name = one.name, name
        if one.kind == "timeseries":
            source = f"{BUCKETS}{source}"
        one.file = (
            f"{db}.{name}.bson".replace("/", "_") if one.kind == "timeseries" or name.startswith("system.") else ""
        )
        if one.file:
            await write_documents(self.primary.mongo, one, source, folder)
        else:
            one.documents = int(await self.primary.mongo[db][source].estimated_document_count())
        return [one]

    async def _views(self, db: str) -> Any:
        views = self.primary.mongo[db][Names(self.tag).staged(VIEWS)]
        async for definition in views.find():
            if not str(definition["viewOn"]).startswith(BUCKETS):
                name = str(definition.pop("_id")).removeprefix(f"{db}.")
                yield Collection(db=db, name=name, kind="view", options=json_util.dumps(definition))


def _empty(folder: Path) -> None:
    """Create an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)


@dataclass(slots=True)
class _Progress:
    """Position of a replay: everything up to ``at`` is applied, and so many steps of the entry after it."""

    at: Position
    steps: int = 0
    #: Whether the next command may have been executed already.
    is_resumed: bool = False


@dataclass(slots=True)
class _Run:
    """The replay of one slice."""

    replaying: Replaying
    progress: _Progress
    translation: Translation
    _pending: list[dict[str, Any]] = field(default_factory=list)
    _size: int = 0

    async def replay(self, file: Path, one: Slice) -> None:
        """Replay the entries of a file after the position, before the limit."""
        progress, limit = self.progress, self.replaying.limit
        for position, steps in self._entries(file):
            if position.place >= limit.place:
                break
            done, progress.steps = progress.steps, 0
            for number, step in enumerate(steps, start=1):
                if number > done:
                    await self._take(step, position)
                progress.steps = max(number, done)
            progress.at, progress.steps = position, 0
        if one.end.place < limit.place:
            progress.at = one.end
        else:
            progress.at = Position(limit.seconds, limit.counter - 1) if limit.counter else progress.at
        await self._flush()

    def _entries(self, file: Path) -> Iterator[tuple[Position, list[Step]]]:
        for batch in batches(file):
            for entry in decode_all(batch, RAW):
                position = Position(entry["ts"].time, entry["ts"].inc)
                if position.place <= self.progress.at.place:
                    continue
                steps = self.translation.steps(entry)
                if self.translation.is_between_entries:
                    yield position, steps

    async def _take(self, step: Step, position: Position) -> None:
        match step:
            case Change(operation):
                self.progress.is_resumed = False
                if not self.replaying.is_too_early(operation, position):
                    size = len(operation["o"].raw)
                    if self._pending and (len(self._pending) >= _CHANGES or self._size + size > _BYTES):
                        await self._flush()
                    self._pending.append(operation)
                    self._size += size
            case Command(body=body):
                await self._flush()
                is_repeated = self.progress.is_resumed and "renameCollection" in body
                await self.replaying.command(step, *((_NAMESPACE_NOT_FOUND,) if is_repeated else ()))
                self.progress.is_resumed = False
            case _:
                assert_never(step)

    async def _flush(self) -> None:
        """Apply the pending changes with the position after them."""
        await self.replaying.apply(self._pending, self.progress)
        self._pending, self._size = [], 0
