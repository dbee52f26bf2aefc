"""Copy new entries of the oplog into slices.

Only entries that a majority has are copied, so no later rollback takes one back. A member that does not have the last
archived entry does not prove a gap: it may lag behind, or may have been synchronised later than that. So there is a gap
only when every member of the set has responded and lacks it.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from typing import Any, TypeAlias

from bson import Timestamp

from mgors.connections import Connector, Limit, Member
from mgors.dump import RAW
from mgors.manifest import BATCH
from mgors.oplog import Position, Slice, checksum
from mgors.replay import is_incomplete

#: Bytes after which a slice is complete.
LARGEST = 64 * 2**20
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class Archived:
    """New entries, in a file that is not stored yet."""

    slice: Slice
    file: Path
    entries: int
    #: Whether there may be more entries already.
    is_full: bool


@dataclass(frozen=True, slots=True)
class NothingNew:
    """No new entries. ``problem`` tells why the last archived one was not found, if it was not."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A member lacks the last archived entry; archiving can continue from another one."""

    reason: str
    restart: Position


Outcome: TypeAlias = Archived | NothingNew | Lost


async def last_committed(connector: Connector, host: str) -> Position:
    """Return the last entry that a majority has, as a member knows it."""
    async with connector.member(host, Limit.ASK) as member:
        return await _committed(member)


async def archive_from(connector: Connector, hosts: list[str], folder: Path, after: Position) -> Outcome:
    """Copy the entries after a position, from the first member that has it."""
    lost: list[Lost] = []
    late: NothingNew | None = None
    for host in hosts:
        async with connector.member(host, Limit.BULK) as member:
            found = await _archive(member, folder, after)
        match found:
            case Lost():
                lost.append(found)
            case NothingNew(problem=problem) if problem:
                late = found
            case _:
                return found
    if late is not None or not lost:
        return late or NothingNew("no member can be read now")
    return min(lost, key=lambda one: one.restart)


async def _archive(member: Member, folder: Path, after: Position) -> Outcome:
    committed = await _committed(member)
    oplog = member.mongo.local.get_collection("oplog.rs", codec_options=RAW)
    wanted = {"ts": {"$gte": _timestamp(after), "$lte": _timestamp(committed)}}
    cursor = oplog.find(wanted, sort=[("$natural", 1)], batch_size=BATCH)
    async with cursor:
        async for anchor in cursor:
            if _position(anchor) != after:
                return await _lost(member, after, committed)
            return await member.change("archive the oplog", lambda: _copy(cursor, folder, after))
    return await _lost(member, after, committed)


async def _lost(member: Member, after: Position, committed: Position) -> Outcome:
    """Return why a member does not have an entry."""
    oplog = member.mongo.local["oplog.rs"]
    fields = {"ts": 1, "t": 1}
    oldest = await oplog.find_one(sort=[("$natural", 1)], projection=fields)
    if oldest is None or committed.place < after.place:
        return NothingNew(f"{member.host} has no entries after {after.described()} yet")
    if _position(oldest).place > after.place:
        return Lost(
            f"the oplog of {member.host} begins later: raise oplogSize, or archive more often", _position(oldest)
        )
    return Lost(f"{member.host} has other writes since a forced reconfiguration", committed)


async def _copy(cursor: Any, folder: Path, after: Position) -> Outcome:
    """Write entries into a file. It ends after an entry that completes its transaction."""
    handle, name = _partial(folder)
    end, size, entries, count, is_full = after, 0, 0, 0, False
    with os.fdopen(handle, "wb") as out:
        async for entry in cursor:
            out.write(entry.raw)
            count += 1
            if not is_incomplete(entry):
                end, size, entries = _position(entry), out.tell(), count
                if size >= LARGEST:
                    is_full = True
                    break
        out.truncate(size)
    file = Path(name)
    if not entries:
        await asyncio.to_thread(file.unlink)
        return NothingNew()
    return Archived(Slice(after, end, await asyncio.to_thread(checksum, file)), file, entries, is_full)


def _partial(folder: Path) -> tuple[int, str]:
    """Create a file for entries; its name shows that it is not complete."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return mkstemp(dir=folder, suffix=PARTIAL)


async def _committed(member: Member) -> Position:
    status = await member.mongo.admin.command("replSetGetStatus")
    return _position(status["optimes"]["lastCommittedOpTime"])


def _position(entry: Any) -> Position:
    # The entry that initiates a set has no term.
    return Position(entry["ts"].time, entry["ts"].inc, int(entry.get("t", -1)))


def _timestamp(position: Position) -> Timestamp:
    return Timestamp(position.seconds, position.counter)
