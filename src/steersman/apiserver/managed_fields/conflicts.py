"""Fields that an applier wants and others own, and the answer that says so."""

from collections.abc import Iterable
from typing import NamedTuple

from steersman.apiserver.managed_fields.entries import ManagerKey
from steersman.apiserver.managed_fields.field_set import Fields, difference, paths
from steersman.errors import Cause, Conflict


class Claim(NamedTuple):
    """What an applier wants to change although another manager owns it."""

    owner: ManagerKey
    fields: Fields


def without_fields(claims: Iterable[Claim], fields: Fields) -> list[Claim]:
    """Leave out some fields of the claims, and claims of which nothing is left."""
    rest = (Claim(claim.owner, difference(claim.fields, fields)) for claim in claims)
    return [claim for claim in rest if claim.fields]


def conflict_of(claims: Iterable[Claim]) -> Conflict:
    """Return the error that lists every field and its owner; owners are sorted."""
    listed = [(claim.owner, list(paths(claim.fields))) for claim in claims]
    listed.sort(key=lambda one: one[0].identifier)
    causes = [
        Cause("FieldManagerConflict", f"conflict with {owner}", path) for owner, wanted in listed for path in wanted
    ]
    return Conflict(_message(listed, len(causes)), code=409, reason="Conflict", causes=causes)


def _message(listed: list[tuple[ManagerKey, list[str]]], count: int) -> str:
    if count == 1:
        owner, wanted = listed[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {wanted[0]}"
    lines = [
        line for owner, wanted in listed for line in (f"conflicts with {owner}:", *(f"- {path}" for path in wanted))
    ]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)
