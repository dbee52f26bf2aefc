"""Backups as files: each collection as BSON, and a manifest with counts and checksums, written last.

All of a backup is of one moment: collections are read in one snapshot. Only capped collections are as they are when
their turn comes, because MongoDB reads none of them in a snapshot. What is read is hashed, document by document in
the order of their ids, and so is what was restored: equal hashes mean equal documents, byte for byte.
"""

import hashlib
import shutil
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bson import decode_all, json_util
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import WriteConcern
from steersman import Model, SteersmanError
from steersman.objects import decode_as, encode_json

from mgors.connections import Member, Mongo

_OWN = frozenset({"admin", "config", "local"})
_RAW: CodecOptions[Any] = CodecOptions(document_class=RawBSONDocument)
_MANIFEST = "manifest.json"
#: Documents that are read and written at a time, and bytes at most of those.
_BATCH, _BATCH_BYTES = 1_000, 16_000_000
_LENGTH = 4


class DamagedError(SteersmanError):
    """A backup is not what it was, or what was restored is not what was backed up."""


class Collection(Model):
    """One collection of a backup."""

    db: str
    name: str
    file: str
    documents: int
    size: int
    sha256: str
    #: Options and indexes, as extended JSON.
    options: str
    indexes: str


class Manifest(Model):
    """What a backup has."""

    collections: list[Collection]

    @property
    def documents(self) -> int:
        """How many there are."""
        return sum(one.documents for one in self.collections)

    @property
    def size(self) -> int:
        """How many bytes they have."""
        return sum(one.size for one in self.collections)


async def dump(client: Mongo, folder: Path) -> tuple[Manifest, str]:
    """Write everything that a member has into a folder; give the manifest and its checksum.

    The folder appears under its name when it is complete.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    found: list[Collection] = []
    async with client.start_session(snapshot=True) as session:
        for db in sorted(set(await client.list_database_names()) - _OWN):
            for info in sorted([one async for one in await client[db].list_collections()], key=lambda one: one["name"]):
                if info["type"] == "collection" and not info["name"].startswith("system."):
                    file = partial / f"{len(found):04}.bson"
                    found.append(await _dump_collection(client, session, db, info, file))
    manifest = Manifest(collections=found)
    data = encode_json(manifest)
    (partial / _MANIFEST).write_bytes(data)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return manifest, hashlib.sha256(data).hexdigest()


async def _dump_collection(client: Mongo, session: Any, db: str, info: dict[str, Any], file: Path) -> Collection:
    name, options = info["name"], info.get("options", {})
    documents, size, digest = await _write(client, None if options.get("capped") else session, (db, name), file)
    indexes = [one async for one in await client[db][name].list_indexes()]
    return Collection(
        db=db,
        name=name,
        file=file.name,
        documents=documents,
        size=size,
        sha256=digest,
        options=json_util.dumps(options),
        indexes=json_util.dumps(indexes),
    )


async def _write(client: Mongo, session: Any, place: tuple[str, str], file: Path) -> tuple[int, int, str]:
    digest, documents, size = hashlib.sha256(), 0, 0
    with file.open("wb") as out:
        async for raw in _documents(client, place, session):
            out.write(raw)
            digest.update(raw)
            documents, size = documents + 1, size + len(raw)
    return documents, size, digest.hexdigest()


async def _documents(client: Mongo, place: tuple[str, str], session: Any = None) -> AsyncIterator[bytes]:
    db, name = place
    collection: Any = client[db].get_collection(name, codec_options=_RAW)
    async for document in collection.find({}, session=session, sort=[("_id", 1)], batch_size=_BATCH):
        yield document.raw


def read(folder: Path, sha256: str) -> Manifest:
    """Read the manifest of a backup, and check every file of it."""
    try:
        data = (folder / _MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedError(f"the backup {folder.name} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedError(f"the manifest of the backup {folder.name} was changed")
    manifest = decode_as(Manifest, data)
    for one in manifest.collections:
        digest = hashlib.sha256()
        for batch in _batches(folder / one.file):
            digest.update(batch)
        if digest.hexdigest() != one.sha256:
            raise DamagedError(f"{one.file} of the backup {folder.name}, {one.db}.{one.name}, was changed")
    return manifest


async def load(primary: Member, folder: Path, manifest: Manifest) -> None:
    """Put the databases of a backup in the place of those at the primary, and compare. Doing it again is harmless."""
    for db in sorted({one.db for one in manifest.collections}):
        await primary.order({"dropDatabase": 1}, db)
    for one in manifest.collections:
        database = primary.mongo[one.db]
        await primary.order({"create": one.name, **json_util.loads(one.options)}, one.db)
        collection = database.get_collection(
            one.name, codec_options=_RAW, write_concern=WriteConcern("majority", wtimeout=60_000)
        )
        for batch in _batches(folder / one.file):
            await primary.change(f"insert {one.name}", partial(collection.insert_many, decode_all(batch, _RAW)))
        indexes = [index for index in json_util.loads(one.indexes) if index["name"] != "_id_"]
        if indexes:
            await primary.order({"createIndexes": one.name, "indexes": indexes}, one.db)
        await _compare(primary.mongo, one)


async def _compare(client: Mongo, one: Collection) -> None:
    digest, documents = hashlib.sha256(), 0
    async for raw in _documents(client, (one.db, one.name)):
        digest.update(raw)
        documents += 1
    if (documents, digest.hexdigest()) != (one.documents, one.sha256):
        raise DamagedError(
            f"{one.db}.{one.name} has {documents} documents after the restore, and they are not the "
            f"{one.documents} of the backup: does somebody write to it?"
        )


def _batches(file: Path) -> Iterator[bytes]:
    """Give the documents of a file, some at a time."""
    with file.open("rb") as source:
        batch, count = bytearray(), 0
        while head := source.read(_LENGTH):
            batch += head + source.read(int.from_bytes(head, "little") - _LENGTH)
            count += 1
            if count == _BATCH or len(batch) >= _BATCH_BYTES:
                yield bytes(batch)
                batch, count = bytearray(), 0
        if batch:
            yield bytes(batch)


def remove(folder: Path) -> None:
    """Remove a backup, also one that is not complete."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.with_name(f"{folder.name}.partial"), ignore_errors=True)
