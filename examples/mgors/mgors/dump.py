"""Dump all data of a member: collections, time series and views of all databases, and users on request.

Collections are read in one snapshot, so a backup is of one moment. The exception are capped collections, which MongoDB
cannot read in a snapshot. A collection that cannot be backed up fails the backup; those that are left out on purpose
are listed (`Manifest.left_out`).
"""

import hashlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bson import json_util
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure
from steersman import SteersmanError

from mgors.connections import Mongo
from mgors.manifest import BATCH, Collection, Kind, Manifest, write_manifest
from mgors.oplog import Position
from mgors.staging import BUCKETS, REPLACED, STAGED, VIEWS

RAW: CodecOptions[Any] = CodecOptions(document_class=RawBSONDocument)
#: Databases of the server itself. Of admin, collections of users are dumped.
_INTERNAL = frozenset({"config", "local"})
#: Collections of the server: views are dumped as definitions, profiles are diagnostics of one member.
_DIAGNOSTICS = "system.profile"
_SNAPSHOT_TOO_OLD = 239


class NotSupportedError(SteersmanError):
    """A collection cannot be backed up; without it the backup would be incomplete."""


def is_left_out(db: str, name: str) -> bool:
    """Return whether a collection is left out on purpose: diagnostics, and those of the server or of a restore."""
    return (db == "admin" and name.startswith("system.")) or name == _DIAGNOSTICS or name.startswith((STAGED, REPLACED))


def kind_of(db: str, info: dict[str, Any], names: set[str]) -> Kind | None:
    """Return the kind of a collection; ``None`` if it is part of another one or left out on purpose."""
    name = str(info["name"])
    if name == VIEWS or (name.startswith(BUCKETS) and name.removeprefix(BUCKETS) in names) or is_left_out(db, name):
        return None
    match info["type"]:
        case "timeseries":
            return "timeseries"
        case "view":
            return "view"
        case "collection" if not name.startswith("system.") or name == "system.js":
            return "collection"
        case unknown:
            raise NotSupportedError(f"{db}.{name} ({unknown}) cannot be backed up, so the backup would be incomplete")


async def documents(client: Mongo, db: str, one: str, *, natural: bool, session: Any = None) -> AsyncIterator[bytes]:
    """Yield the documents of a collection in an order that a restore preserves."""
    collection: Any = client[db].get_collection(one, codec_options=RAW)
    order = [("$natural", 1)] if natural else [("_id", 1)]
    async for document in collection.find({}, session=session, sort=order, batch_size=BATCH):
        yield document.raw


async def dump(client: Mongo, folder: Path, *, users_and_roles: bool = False) -> tuple[Manifest, str]:
    """Write all data of a member into a folder; return the manifest and its checksum."""
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    try:
        async with client.start_session(snapshot=True) as session:
            run = _Dump(client, session, partial)
            at = await run.begin()
            for db in sorted(await client.list_database_names()):
                await run.database(db)
            if users_and_roles:
                await run.users_and_roles()
    except OperationFailure as failure:
        if failure.code != _SNAPSHOT_TOO_OLD:
            raise
        text = "the dump took longer than MongoDB keeps the snapshot: raise the server parameter "
        raise NotSupportedError(f"{text}minSnapshotHistoryWindowInSeconds of the members") from failure
    usable_from = await _last_entry(client) if any(one.is_capped for one in run.found) else at
    manifest = Manifest(collections=run.found, left_out=run.left_out, at=at, usable_from=usable_from)
    checksum = write_manifest(manifest, partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return manifest, checksum


async def _last_entry(client: Mongo) -> str:
    """Return the position of the last entry in the oplog of a member."""
    found = await client.local["oplog.rs"].find_one(sort=[("$natural", -1)], projection={"ts": 1})
    return "" if found is None else str(Position(found["ts"].time, found["ts"].inc))


@dataclass(slots=True)
class _Dump:
    """A dump in progress."""

    client: Mongo
    session: Any
    folder: Path
    found: list[Collection] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    async def begin(self) -> str:
        """Choose the moment of the snapshot, and return its position in the oplog."""
        await self.client.admin["system.version"].find_one(session=self.session)
        found = vars(self.session)["_snapshot_time"]  # the driver has no public name for it
        return str(Position(found.time, found.inc))

    async def database(self, db: str) -> None:
        """Dump a database."""
        if db in _INTERNAL:
            self.left_out.append(db)
            return
        infos = [one async for one in await self.client[db].list_collections()]
        names = {str(one["name"]) for one in infos}
        for info in sorted(infos, key=lambda one: str(one["name"])):
            kind = kind_of(db, info, names)
            if kind is not None:
                await self._collection(db, info, kind)
            elif is_left_out(db, str(info["name"])):
                self.left_out.append(f"{db}.{info['name']}")

    async def _collection(self, db: str, info: dict[str, Any], kind: Kind) -> None:
        one = await collection_of(self.client, db, info, kind)
        if kind != "view":
            await self._write(one, f"{BUCKETS}{one.name}" if kind == "timeseries" else one.name)
        self.found.append(one)

    async def users_and_roles(self) -> None:
        """Dump the users and roles of all databases."""
        kinds: list[tuple[Kind, str]] = [("users", "system.users"), ("roles", "system.roles")]
        for kind, name in kinds:
            one = Collection(db="admin", name=name, kind=kind)
            await self._write(one, name)
            self.found.append(one)

    async def _write(self, one: Collection, source: str) -> None:
        """Write the documents into the next file."""
        one.file = f"{len(self.found):04}.bson"
        if one.is_capped:
            one.since = await _last_entry(self.client)
        await write_documents(self.client, one, source, self.folder, None if one.is_capped else self.session)


async def collection_of(client: Mongo, db: str, info: dict[str, Any], kind: Kind) -> Collection:
    """Return a collection with its options and indexes."""
    name, options = str(info["name"]), info.get("options", {})
    one = Collection(db=db, name=name, kind=kind, options=json_util.dumps(options))
    if kind != "view":
        one.indexes = json_util.dumps([index async for index in await client[db][name].list_indexes()])
    return one


async def write_documents(client: Mongo, one: Collection, source: str, folder: Path, session: Any = None) -> None:
    """Write the documents of a collection into its file, and note their count and checksum."""
    digest = hashlib.sha256()
    with (folder / one.file).open("wb") as out:
        async for raw in documents(client, one.db, source, natural=one.is_capped, session=session):
            out.write(raw)
            digest.update(raw)
            one.documents, one.size = one.documents + 1, one.size + len(raw)
    one.sha256 = digest.hexdigest()
