"""Where the slices of an archived oplog are kept: beside the backups, in the operator's volume or in a bucket."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from steersman import Context

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.backup_store import TRANSIT, bucket_of
from mgors.backups import folder_at
from mgors.oplog import Slice, parse_all
from mgors.s3 import Bucket


class ArchiveStore(Protocol):
    """Keeps slices."""

    @property
    def folder(self) -> Path:
        """The local folder in which a slice is written before it is stored."""

    async def slices(self) -> list[Slice]:
        """Return all slices, in order."""

    async def save(self, one: Slice, file: Path) -> None:
        """Store a file of the folder as a slice."""

    async def load(self, one: Slice) -> Path:
        """Return a local file with a slice, and check it."""

    async def delete(self, slices: Iterable[Slice]) -> None:
        """Delete slices."""


@dataclass(frozen=True, slots=True)
class FolderArchive:
    """A folder in the volume of backups."""

    folder: Path

    async def slices(self) -> list[Slice]:
        """Return all slices, in order."""
        return parse_all(file.name for file in self.folder.iterdir()) if self.folder.exists() else []

    async def save(self, one: Slice, file: Path) -> None:
        """Rename the file: a slice appears when it is complete."""
        await asyncio.to_thread(file.rename, self.folder / one.name)

    async def load(self, one: Slice) -> Path:
        """Return the file of a slice, and check it."""
        file = self.folder / one.name
        await asyncio.to_thread(one.check, file)
        return file

    async def delete(self, slices: Iterable[Slice]) -> None:
        """Delete slices."""
        for one in slices:
            (self.folder / one.name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class BucketArchive:
    """A prefix in a bucket."""

    folder: Path
    bucket: Bucket
    prefix: str
    ctx: Context[Any]

    async def slices(self) -> list[Slice]:
        """Return all slices, in order."""
        keys = await asyncio.to_thread(self.bucket.keys, f"{self.prefix}/")
        return parse_all(key.removeprefix(f"{self.prefix}/") for key in keys)

    async def save(self, one: Slice, file: Path) -> None:
        """Upload the file, and delete it."""
        key = f"{self.prefix}/{one.name}"
        await self.ctx.external_write("s3", f"put {key}", partial(asyncio.to_thread, self.bucket.put, key, file))
        await asyncio.to_thread(file.unlink)

    async def load(self, one: Slice) -> Path:
        """Download a slice unless there is a copy, and check it."""
        file = self.folder / one.name
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not file.exists():
            await asyncio.to_thread(self.bucket.get, f"{self.prefix}/{one.name}", file)
        await asyncio.to_thread(one.check, file)
        return file

    async def delete(self, slices: Iterable[Slice]) -> None:
        """Delete slices, and local copies of them."""
        keys = [f"{self.prefix}/{one.name}" for one in slices]
        if keys:
            work = partial(asyncio.to_thread, self.bucket.delete, keys)
            await self.ctx.external_write("s3", f"delete {len(keys)} slices of {self.prefix}", work)


async def archive_of(archive: MgorsArchive, ctx: Context[Any], root: Path) -> ArchiveStore:
    """Return where the slices of an archive are, by its status."""
    status = archive.status
    if status.s3 is None:
        return FolderArchive(folder_at(status.destination, root))
    folder = folder_at(f"{TRANSIT}/{status.destination}", root)
    prefix = "/".join(part for part in (status.s3.prefix.strip("/"), status.destination) if part)
    return BucketArchive(folder, await bucket_of(status.s3, archive.namespace, ctx), prefix, ctx)
