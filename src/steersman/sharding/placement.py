"""The distribution of shards: each replica gets the same number, and as few as possible move.

Shards stay where they are as long as their replica has no more than its share. Those that have to move, or are free, go
by rendezvous hashing to replicas that have less than their share, so that replicas which see the same members propose
the same. Rendezvous hashing alone would leave some replicas with twice the work of others: there are few shards.
"""

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b


def placement(current: Sequence[int | None], members: Collection[int]) -> dict[int, int]:
    """Return the slot that should hold each shard, given the slots that do and those that are there.

    ``current`` has the slot of each shard; ``None``, or a slot that is not a member, means that it is free.
    """
    if not members:
        return {}
    held: dict[int, list[int]] = {slot: [] for slot in sorted(members)}
    loose: list[int] = []
    for shard, slot in enumerate(current):
        if slot is not None and slot in held:
            held[slot].append(shard)
        else:
            loose.append(shard)
    shares = _shares(len(current), held)
    for slot, shards in held.items():
        # Its worst matches leave first: another replica has a higher score for them.
        shards.sort(key=lambda shard, slot=slot: _score(shard, slot), reverse=True)  # type: ignore[misc]
        loose += shards[shares[slot] :]
        del shards[shares[slot] :]
    return _spread(held, shares, loose)


def _shares(count: int, held: Mapping[int, list[int]]) -> dict[int, int]:
    """Return how many shards each slot should have; those that have most already get the remainder."""
    base, rest = divmod(count, len(held))
    fullest = sorted(held, key=lambda slot: (-len(held[slot]), slot))
    return {slot: base + (place < rest) for place, slot in enumerate(fullest)}


def _spread(held: dict[int, list[int]], shares: Mapping[int, int], loose: list[int]) -> dict[int, int]:
    found = {shard: slot for slot, shards in held.items() for shard in shards}
    room = {slot: shares[slot] - len(shards) for slot, shards in held.items() if shares[slot] > len(shards)}
    pairs = ((_score(shard, slot), shard, slot) for shard in loose for slot in room)
    for _, shard, slot in sorted(pairs, reverse=True):
        if shard not in found and room[slot] > 0:
            found[shard] = slot
            room[slot] -= 1
    return found


def _score(shard: int, slot: int) -> bytes:
    return blake2b(f"{shard}/{slot}".encode(), digest_size=8).digest()
