"""Owners and dependents, how each is deleted, and the rule that says which objects remain."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Objects with owners among earlier ones, and how each is deleted, in order."""

    owners: tuple[frozenset[int], ...]
    blocking: frozenset[tuple[int, int]]
    deletes: tuple[tuple[int, str], ...]


def survivors(family: Family) -> dict[int, frozenset[int]]:
    """Return the objects that must remain, with their owners: one is deleted with its last owner, unless orphaned."""
    left = {index: set(owners) for index, owners in enumerate(family.owners)}
    for target, policy in family.deletes:
        if target not in left:
            continue
        del left[target]
        gone = {target}
        if policy == "Orphan":
            for owners in left.values():
                owners.discard(target)
            continue
        while gone:
            ended = {index for index, owners in left.items() if owners & gone and not owners - gone}
            for index in left:
                left[index] -= gone
            for index in ended:
                del left[index]
            gone = ended
    return {index: frozenset(owners) for index, owners in left.items()}
