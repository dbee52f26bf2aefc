"""Where the files of a backup are kept: a folder in the operator's volume, or a bucket.

A bucket is filled from a folder and read into one: dumps and restores work on local files. The manifest is uploaded
last, so a backup without one is incomplete. What a backup needs to find its files again is in its status, because
backups outlive the replica set and its settings.
"""

import asyncio
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from steersman import Context
from steersman.kinds.core_v1 import Secret

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_v1 import S3Target
from mgors.backups import DestinationError, folder_at
from mgors.connections import MemberError
from mgors.manifest import MANIFEST, read_manifest, remove
from mgors.s3 import Bucket, S3Error

#: Folder in the volume of backups for files on their way to or from a bucket.
TRANSIT = ".transit"


def is_temporary(error: Exception) -> bool:
    """Return whether a backup or restore should be tried again: a member or a bucket cannot be reached now."""
    return isinstance(error, MemberError) or (isinstance(error, S3Error) and not error.is_final)


class BackupStore(Protocol):
    """Keeps the files of one backup."""

    @property
    def folder(self) -> Path:
        """The local folder that a dump fills and a restore reads."""

    async def save(self) -> None:
        """Store the complete folder."""

    async def load(self, sha256: str) -> None:
        """Make all files available in the folder, given the checksum of the manifest."""

    async def release(self) -> None:
        """Delete local copies that are not needed any more."""

    async def delete(self) -> None:
        """Delete the backup."""


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder in the volume of backups: its files stay where the dump has written them."""

    folder: Path

    async def save(self) -> None:
        """Do nothing."""

    async def load(self, sha256: str) -> None:
        """Do nothing."""

    async def release(self) -> None:
        """Do nothing."""

    async def delete(self) -> None:
        """Delete the folder, also an incomplete one."""
        remove(self.folder)


@dataclass(frozen=True, slots=True)
class BucketStore:
    """A prefix in a bucket."""

    folder: Path
    bucket: Bucket
    prefix: str
    ctx: Context[Any]

    async def save(self) -> None:
        """Upload all files, the manifest last, and delete the local ones."""
        names = sorted((file.name for file in self.folder.iterdir()), key=lambda name: (name == MANIFEST, name))
        for name in names:
            upload = partial(asyncio.to_thread, self.bucket.put, f"{self.prefix}/{name}", self.folder / name)
            await self.ctx.external_write("s3", f"put {self.prefix}/{name}", upload)
        await self.release()

    async def load(self, sha256: str) -> None:
        """Download the files that are missing. Their checksums are verified by the restore."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._fetch(MANIFEST)
        for one in read_manifest(self.folder, sha256).collections:
            if one.file and not _has_size(self.folder / one.file, one.size):
                await self._fetch(one.file)

    async def _fetch(self, name: str) -> None:
        await asyncio.to_thread(self.bucket.get, f"{self.prefix}/{name}", self.folder / name)

    async def release(self) -> None:
        """Delete the local copies."""
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def delete(self) -> None:
        """Delete all objects of the prefix, also those of an incomplete backup, and the local copies."""

        def delete() -> None:
            self.bucket.delete(self.bucket.keys(f"{self.prefix}/"))

        await self.ctx.external_write("s3", f"delete {self.prefix}", partial(asyncio.to_thread, delete))
        remove(self.folder)


def _has_size(file: Path, size: int) -> bool:
    return file.exists() and file.stat().st_size == size


async def store_of(backup: MgorsBackup, ctx: Context[Any], root: Path) -> BackupStore:
    """Return where the files of a backup are, by its status."""
    status = backup.status
    if status.s3 is None:
        return FolderStore(folder_at(status.destination, root))
    folder = folder_at(f"{TRANSIT}/{status.destination}", root)
    prefix = "/".join(part for part in (status.s3.prefix.strip("/"), status.destination) if part)
    return BucketStore(folder, await bucket_of(status.s3, backup.namespace, ctx), prefix, ctx)


async def bucket_of(target: S3Target, namespace: str, ctx: Context[Any]) -> Bucket:
    """Return a bucket with the keys of its Secret."""
    secret = await ctx.client.try_get(Secret, target.secret_name, namespace)
    data = (secret.data or {}) if secret is not None else {}
    keys = [data.get(key, b"").decode().strip() for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    if not all(keys):
        raise DestinationError(
            f"the Secret {target.secret_name} has no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the bucket"
        )
    return Bucket(
        endpoint=target.endpoint, name=target.bucket, access_key=keys[0], secret_key=keys[1], region=target.region
    )
