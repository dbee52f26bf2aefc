"""Restore a backup in repeatable steps: after an interruption the next step continues.

    Checking      every file against its checksum
    Loading       each collection under another name in the same database, and compared byte by byte
    Replaying     the archived oplog on these collections, if a later moment is wanted (`replaying`)
    SettingAside  collections that the backup does not have are renamed
    Swapping      existing collections are renamed, and the new ones get their names
    Cleaning      the previous collections are dropped

Existing data is not touched until all data is loaded and verified, and it is kept until all of it is swapped. MongoDB
cannot rename time series: before one is replaced, its buckets are copied, and the new ones are verified once more.

Indexes are created before documents are loaded: on an empty collection this involves no other member, whereas a later
build waits for all voters by default. Indexes with an expiry are created after the comparison.
"""

import asyncio
import hashlib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from bson import decode_all, json_util
from pymongo import WriteConcern
from pymongo.errors import OperationFailure

from mgors.api.mgors_restore_v1 import Phase
from mgors.connections import Member
from mgors.dump import RAW, documents
from mgors.errors import DamagedError
from mgors.manifest import Collection, Manifest, batches, check_file, offset_of
from mgors.staging import BUCKETS, REPLACED, STAGED, Names

_MAJORITY: dict[str, Any] = {"writeConcern": {"w": "majority", "wtimeout": 60_000}}
#: Batches that one step loads.
_BATCHES = 20
#: Maximum number of bytes in the full name of a collection.
_LONGEST = 255
_NAMESPACE_NOT_FOUND = 26
_NEXT: dict[Phase, Phase] = {
    "Checking": "Loading",
    "Loading": "SettingAside",
    "Replaying": "SettingAside",
    "SettingAside": "Swapping",
    "Swapping": "Cleaning",
    "Cleaning": "Done",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a restore."""

    phase: Phase = "Checking"
    #: Number of collections, or databases, that are done in this phase.
    position: int = 0
    #: Number of documents loaded so far.
    documents: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """A restore on the primary."""

    primary: Member
    folder: Path
    manifest: Manifest
    #: Distinguishes the collections of this restore from those of others.
    tag: str
    users_and_roles: bool = False
    #: Whether entries of the oplog are replayed before the swap.
    is_replayed: bool = False
    #: Databases that are replaced although the manifest does not have them: they were dropped since the backup.
    dropped: tuple[str, ...] = ()
    #: Position in each file: (documents before it, offset). A cache: it can be lost.
    _offsets: dict[str, tuple[int, int]] = field(default_factory=dict)

    async def step(self, progress: Progress) -> Progress:
        """Do one step, and return the progress after it."""
        phase = progress.phase
        items: list[Any] = self._items(phase)
        if progress.position >= len(items):
            following: Phase = "Replaying" if phase == "Loading" and self.is_replayed else _NEXT[phase]
            return Progress(following, 0, progress.documents, f"{phase} is complete")
        item = items[progress.position]
        place = item if isinstance(item, str) else item.place
        if phase == "Loading":
            loaded, is_complete = await self._load(item)
            text = f"Loading {place}"
            return Progress(phase, progress.position + is_complete, progress.documents + loaded, text)
        await self._do(phase, item)
        return Progress(phase, progress.position + 1, progress.documents, f"{phase} {place}")

    def _items(self, phase: Phase) -> list[Any]:
        databases = sorted({*self.manifest.databases, *self.dropped})
        match phase:
            case "SettingAside":
                return [*databases]
            case "Cleaning":
                return [*databases, *([] if "admin" in databases else ["admin"])]
            case _:
                return [*self.manifest.collections]

    async def _do(self, phase: Phase, item: Any) -> None:
        match phase:
            case "Checking":
                await self._check(item)
            case "SettingAside":
                await self._set_others_aside(item)
            case "Swapping":
                await self._swap(item)
            case "Cleaning":
                await self._drop_all(item, (f"{STAGED}{self.tag}", f"{REPLACED}{self.tag}"))
            case "Loading" | "Replaying" | "Done":
                raise ValueError(f"{phase} has no such step")
            case _:
                assert_never(phase)

    async def abandon(self) -> None:
        """Drop the loaded collections. The existing data has not been touched."""
        for db in await self.primary.mongo.list_database_names():
            if db not in ("local", "config"):
                await self._drop_all(db, (f"{STAGED}{self.tag}",))

    # Checking and loading.

    async def _check(self, one: Collection) -> None:
        await asyncio.to_thread(check_file, self.folder, one)
        longest = f"{one.db}.{BUCKETS}{self._staged(one)}"
        if len(longest.encode()) > _LONGEST:
            raise DamagedError(f"{one.place}: the name is too long to load it next to the existing collection")

    async def _load(self, one: Collection) -> tuple[int, bool]:
        """Load some documents of a collection under another name; return how many, and whether that was all."""
        if one.kind in ("view", "users", "roles"):
            return 0, True
        staged = self._staged(one)
        source = f"{BUCKETS}{staged}" if one.kind == "timeseries" else staged
        before = await self._count(one.db, source)
        if before is not None and one.is_capped and before != one.documents:
            await self._drop(one.db, staged)  # its insertion order matters, so it is loaded in one step
            before = None
        if before is None:
            await self._create(one, staged)
            before = 0
        loaded = await self._insert(one, source, before, most=0 if one.is_capped else _BATCHES)
        if before + loaded < one.documents:
            return loaded, False
        await self._verify(one, source, staged)
        if one.kind == "collection":
            await self._create_indexes(one, staged, expiring=True)
        return loaded, True

    async def _create(self, one: Collection, name: str) -> None:
        """Create an empty collection with the options of the backup, except those that let documents expire."""
        options = json_util.loads(one.options)
        options.pop("expireAfterSeconds", None)
        await self.primary.run_command({"create": name, **options, **_MAJORITY}, one.db)
        if one.kind == "collection":
            await self._create_indexes(one, name, expiring=False)

    async def _create_indexes(self, one: Collection, name: str, *, expiring: bool) -> None:
        indexes = [
            index
            for index in json_util.loads(one.indexes)
            if index["name"] != "_id_" and not index.get("clustered") and ("expireAfterSeconds" in index) == expiring
        ]
        if indexes:
            command = {"createIndexes": name, "indexes": indexes, "commitQuorum": "majority"}
            await self.primary.run_command(command, one.db)

    async def _insert(self, one: Collection, name: str, skip: int, *, most: int = 0) -> int:
        """Insert the documents of a file in order, from a number on; return how many."""
        collection = self.primary.mongo[one.db].get_collection(
            name, codec_options=RAW, write_concern=WriteConcern("majority", wtimeout=60_000)
        )
        loaded, file = 0, self.folder / one.file
        known, offset = self._offsets.get(one.file, (0, 0))
        if known != skip:
            offset = await asyncio.to_thread(offset_of, file, skip)
        for number, batch in enumerate(batches(file, offset), start=1):
            found = decode_all(batch, RAW)
            # Documents may be older than the validation rules of their collection.
            insert = partial(collection.insert_many, found, bypass_document_validation=True)
            await self.primary.change(f"insert {name}", insert)
            loaded, offset = loaded + len(found), offset + len(batch)
            self._offsets[one.file] = (skip + loaded, offset)
            if number == most:
                break
        return loaded

    async def _verify(self, one: Collection, source: str, name: str) -> None:
        """Compare a loaded collection with the backup; drop it if it differs."""
        digest, count = hashlib.sha256(), 0
        async for raw in documents(self.primary.mongo, one.db, source, natural=one.is_capped):
            digest.update(raw)
            count += 1
        if (count, digest.hexdigest()) != (one.documents, one.sha256):
            await self._drop(one.db, name)
            raise DamagedError(
                f"{one.place} had {count} documents after it was loaded, and they are not the {one.documents} of the "
                "backup"
            )

    # Swapping.

    async def _set_others_aside(self, db: str) -> None:
        if db == "admin":
            return
        known = self.manifest.names(db)
        for info in await self._infos(db):
            name = str(info["name"])
            if name not in known and not name.startswith(("system.", STAGED, REPLACED)):
                await self._set_aside(db, info)

    async def _swap(self, one: Collection) -> None:
        match one.kind:
            case "users" | "roles":
                await self._merge_users(one)
            case "view":
                await self._make_room(one)
                await self._create(one, one.name)
            case "timeseries":
                await self._replace_time_series(one)
            case "collection" if one.name.startswith("system."):
                await self._replace_content(one)
            case "collection":
                await self._replace_by_name(one)
            case _:
                assert_never(one.kind)

    async def _replace_by_name(self, one: Collection) -> None:
        staged = self._staged(one)
        if await self._count(one.db, staged) is None:
            return  # an earlier attempt has swapped it
        info = await self._info(one.db, one.name)
        if info is not None and not await self._is_set_aside(one.db, one.name):
            await self._set_aside(one.db, info)
        # Writes of clients between these two commands are lost, as all writes before the restore are.
        await self._rename(one.db, staged, one.name, drop_target=True)
        await self._set_expiry(one)

    async def _replace_time_series(self, one: Collection) -> None:
        await self._make_room(one)
        await self._create(one, one.name)
        await self._insert(one, f"{BUCKETS}{one.name}", 0)
        await self._verify(one, f"{BUCKETS}{one.name}", one.name)
        indexes = [index for index in json_util.loads(one.indexes) if not index.get("clustered")]
        if indexes:
            command = {"createIndexes": one.name, "indexes": indexes, "commitQuorum": "majority"}
            await self.primary.run_command(command, one.db)
        await self._set_expiry(one)

    async def _replace_content(self, one: Collection) -> None:
        """Replace the documents of a collection that cannot be renamed, such as stored functions."""
        info = await self._info(one.db, one.name)
        if info is not None and not await self._is_set_aside(one.db, one.name):
            await self._copy(one.db, one.name, self._replaced(one.name))
        if info is None:
            await self._create(one, one.name)
        else:  # such a collection cannot be dropped
            collection = self.primary.mongo[one.db].get_collection(one.name, write_concern=WriteConcern("majority"))
            await self.primary.change(f"empty {one.name}", partial(collection.delete_many, {}))
        await self._insert(one, one.name, 0)
        await self._verify(one, one.name, one.name)

    async def _make_room(self, one: Collection) -> None:
        """Set aside the existing collection of this name; drop the one of an earlier attempt."""
        info = await self._info(one.db, one.name)
        if info is None:
            return
        if await self._is_set_aside(one.db, one.name):
            await self._drop(one.db, one.name)
        else:
            await self._set_aside(one.db, info)

    async def _set_expiry(self, one: Collection) -> None:
        seconds = json_util.loads(one.options).get("expireAfterSeconds")
        if seconds is not None:
            await self.primary.run_command({"collMod": one.name, "expireAfterSeconds": seconds, **_MAJORITY}, one.db)

    async def _set_aside(self, db: str, info: dict[str, Any]) -> None:
        """Keep a collection, a time series or a view under another name; a view is kept as its definition."""
        name = str(info["name"])
        if info["type"] == "collection":
            await self._rename(db, name, self._replaced(name))
            return
        if info["type"] == "timeseries":
            await self._copy(db, f"{BUCKETS}{name}", self._replaced(name))
        definition = {"_id": name, "type": info["type"], "options": json_util.dumps(info.get("options", {}))}
        definitions = self.primary.mongo[db].get_collection(
            f"{REPLACED}{self.tag}", write_concern=WriteConcern("majority", wtimeout=60_000)
        )
        keep = partial(definitions.replace_one, {"_id": name}, definition, upsert=True)
        await self.primary.change(f"keep the definition of {name}", keep)
        await self._drop(db, name)

    async def _is_set_aside(self, db: str, name: str) -> bool:
        if await self._count(db, self._replaced(name)) is not None:
            return True
        return await self.primary.mongo[db][f"{REPLACED}{self.tag}"].find_one({"_id": name}) is not None

    async def _merge_users(self, one: Collection) -> None:
        if not self.users_and_roles:
            return
        temporary = f"{STAGED}{self.tag}.{one.kind}"
        await self._drop("admin", temporary)
        await self._insert(one, temporary, 0)
        place = f"admin.{temporary}" if one.documents else ""
        command = {
            "_mergeAuthzCollections": 1,
            "tempUsersCollection": place if one.kind == "users" else "",
            "tempRolesCollection": place if one.kind == "roles" else "",
            "drop": False,
            "db": "",
            **_MAJORITY,
        }
        if place:
            await self.primary.run_command(command)
        await self._drop("admin", temporary)

    # Names and single commands.

    def _staged(self, one: Collection) -> str:
        return Names(self.tag).staged(one.name)

    def _replaced(self, name: str) -> str:
        return f"{REPLACED}{self.tag}.{'~' if name.startswith('system.') else ''}{name}"

    async def _infos(self, db: str) -> list[dict[str, Any]]:
        return [one async for one in await self.primary.mongo[db].list_collections()]

    async def _info(self, db: str, name: str) -> dict[str, Any] | None:
        async for one in await self.primary.mongo[db].list_collections(filter={"name": name}):
            return dict(one)
        return None

    async def _count(self, db: str, name: str) -> int | None:
        """Return the number of documents of a collection; ``None`` if it does not exist."""
        if await self._info(db, name) is None:
            return None
        return int(await self.primary.mongo[db][name].estimated_document_count())

    async def _rename(self, db: str, old: str, new: str, *, drop_target: bool = False) -> None:
        command = {"renameCollection": f"{db}.{old}", "to": f"{db}.{new}", "dropTarget": drop_target, **_MAJORITY}
        await self.primary.run_command(command)

    async def _copy(self, db: str, name: str, to: str) -> None:
        """Copy a collection inside the server. The copy appears when it is complete."""

        async def copy() -> None:
            await (await self.primary.mongo[db][name].aggregate([{"$out": to}])).to_list()

        await self.primary.change(f"copy {name}", copy)

    async def _drop(self, db: str, name: str) -> None:
        try:
            await self.primary.run_command({"drop": name, **_MAJORITY}, db)
        except OperationFailure as failure:
            if failure.code != _NAMESPACE_NOT_FOUND:
                raise

    async def _drop_all(self, db: str, prefixes: tuple[str, ...]) -> None:
        for info in await self._infos(db):
            name = str(info["name"])
            if name.startswith(prefixes):
                await self._drop(db, name)
