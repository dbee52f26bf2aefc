"""Shards are ranges of hashed uids.

The hash is FNV-1a with 64 bits and a shard is an interval of hashes, because API servers select shards in the same way
(``shardRange(object.metadata.uid, start, end)``): server and client agree on which object belongs where.
"""

from functools import lru_cache
from typing import Final

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_BITS: Final = 64
_MASK: Final = (1 << _BITS) - 1
#: Number of uids whose shard is remembered: hashing a uid takes microseconds.
_REMEMBERED: Final = 1 << 14

#: The largest number of shards: each replica reads a table with all of them.
MAX_SHARDS: Final = 256


def uid_hash(uid: str) -> int:
    """Return the FNV-1a hash of a uid."""
    found = _OFFSET
    for byte in uid.encode():
        found = (found ^ byte) * _PRIME & _MASK
    return found


@lru_cache(_REMEMBERED)
def shard_of(uid: str, count: int) -> int:
    """Return the shard that a uid belongs to, of ``count``."""
    return uid_hash(uid) * count >> _BITS


def interval(shard: int, count: int) -> tuple[int, int]:
    """Return the hashes of a shard: from the first one up to, but not including, the second one."""
    return -(-(shard << _BITS) // count), -(-(shard + 1 << _BITS) // count)


def check_count(count: object) -> None:
    """Raise ``ValueError`` unless there can be so many shards."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_SHARDS:
        raise ValueError(f"shards is a number from 1 to {MAX_SHARDS}, got {count!r}")
