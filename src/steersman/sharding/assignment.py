"""`Assignment`: the common table of a sharded operator: which replica holds which shard.

There is one table, in an annotation of a Lease, and it is replaced as a whole if it has not changed since it was read.
So a shard never has two holders, whatever the replicas believe about each other.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from steersman.errors import DecodeError
from steersman.informer.store import is_newer
from steersman.sharding.ranges import MAX_SHARDS


class Holder(NamedTuple):
    """A replica: its slot, and the identity of its process, which no other process ever has."""

    slot: int
    identity: str


class _Row(Struct, frozen=True, omit_defaults=True):
    slot: int
    identity: str
    shards: tuple[int, ...] = ()


class _Table(Struct, frozen=True, omit_defaults=True):
    shards: int
    held: tuple[_Row, ...] = ()
    versions: dict[str, str] = {}


class Assignment(Struct, frozen=True):
    """Which replica holds which shard."""

    #: The holder of each shard; ``None`` for one that is free.
    holders: tuple[Holder | None, ...]
    #: The newest version of each resource that a replica had seen when it released shards: what it wrote is not newer.
    versions: Mapping[str, str] = {}

    @staticmethod
    def empty(count: int) -> "Assignment":
        """Return the table of an operator whose shards are all free."""
        return Assignment((None,) * count)

    @property
    def count(self) -> int:
        """Number of shards."""
        return len(self.holders)

    def held_by(self, holder: Holder) -> frozenset[int]:
        """Return the shards of a replica."""
        return frozenset(shard for shard, known in enumerate(self.holders) if known == holder)

    def moved(
        self, holder: Holder, *, take: Iterable[int], release: Iterable[int], versions: Mapping[str, str]
    ) -> "Assignment":
        """Return the table after a replica has taken shards, and released its own or those of one that is gone."""
        taken, released = frozenset(take), frozenset(release)
        holders = tuple(
            holder if shard in taken else None if shard in released else known
            for shard, known in enumerate(self.holders)
        )
        return replace(self, holders=holders, versions=newest(self.versions, versions))

    def text(self) -> str:
        """Return the table as it is stored."""
        rows: dict[Holder, list[int]] = {}
        for shard, holder in enumerate(self.holders):
            if holder is not None:
                rows.setdefault(holder, []).append(shard)
        held = tuple(_Row(holder.slot, holder.identity, tuple(shards)) for holder, shards in sorted(rows.items()))
        return msgspec.json.encode(_Table(self.count, held, dict(self.versions))).decode()

    @staticmethod
    def parse(text: str) -> "Assignment":
        """Read a stored table; raise ``DecodeError`` for anything else."""
        try:
            table = msgspec.json.decode(text, type=_Table)
        except msgspec.DecodeError as error:
            raise DecodeError(f"the table of shards is not readable: {error}: {text[:200]!r}") from None
        if not 1 <= table.shards <= MAX_SHARDS:
            raise DecodeError(f"the table of shards has {table.shards} shards, and there can be 1 to {MAX_SHARDS}")
        holders: list[Holder | None] = [None] * table.shards
        for row in table.held:
            for shard in row.shards:
                if not 0 <= shard < table.shards or holders[shard] is not None:
                    raise DecodeError(f"the table of shards has shard {shard} twice, or has no such shard")
                holders[shard] = Holder(row.slot, row.identity)
        return Assignment(tuple(holders), table.versions)


def newest(known: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return the newer version of each resource."""
    merged = dict(known)
    for resource, version in other.items():
        if resource not in merged or is_newer(version, merged[resource]):
            merged[resource] = version
    return merged
