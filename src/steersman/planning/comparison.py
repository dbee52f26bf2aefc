"""Two plans side by side: what two versions of an operator would do to the same cluster."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from steersman.history.records import ObjectName
from steersman.planning.plan import Action, Change, PlannedObject

_SIGNS: Final = {Action.CREATE: "+", Action.CHANGE: "~", Action.DELETE: "-"}
#: Values that differ from plan to plan.
_DRAWN: Final = re.compile(r"(uid|creationTimestamp|resourceVersion|[tT]ime|ownerReferences.*)$")


class Difference(Struct, frozen=True):
    """What only one of two versions does for an object."""

    object: ObjectName
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]


def compare(here: Iterable[PlannedObject], there: Iterable[PlannedObject]) -> tuple[Difference, ...]:
    """Return the objects that two versions treat differently, without values that differ from plan to plan."""
    ours = {(one.controller, one.object): one for one in here}
    theirs = {(one.controller, one.object): one for one in there}
    found = []
    for key in dict.fromkeys([*ours, *theirs]):
        one, other = (_deeds(plans.get(key), is_definition=not key[0]) for plans in (ours, theirs))
        if one != other:
            found.append(
                Difference(
                    key[1], tuple(line for line in one if line not in other), tuple(x for x in other if x not in one)
                )
            )
    return tuple(found)


def comparison_text(differences: tuple[Difference, ...], there: str) -> str:
    """Return the differences of two plans as people read them; ``there`` is the folder of the other version."""
    if not differences:
        return f"The operator here and the one in {there} do the same."
    return "\n".join(_lines(differences, there))


def _lines(differences: tuple[Difference, ...], there: str) -> Iterator[str]:
    for one in differences:
        yield str(one.object)
        for label, lines in ((f"in {there}", one.only_there), ("here", one.only_here)):
            if lines:
                yield f"  only {label}:"
                yield from (f"    {line}" for line in lines)
    count = len(differences)
    yield f"{count:,} {'object is' if count == 1 else 'objects are'} planned differently. Nothing was written."


def _deeds(one: PlannedObject | None, *, is_definition: bool) -> tuple[str, ...]:
    """Return what is done for an object, one line for each field; a CRD that is not planned does not change."""
    if one is None:
        return () if is_definition else ("not planned",)
    lines = [line for change in one.changes for line in _change_lines(change, one.object.namespace)]
    if one.is_failure:
        lines.append(f"! {one.message or 'does not come to rest'}")
    return tuple(lines)


def _change_lines(change: Change, namespace: str) -> list[str]:
    head = f"{_SIGNS[change.action]} {change.object.within(namespace)}"
    fields = [one for one in change.fields if not _DRAWN.search(one.path)]
    return [f"{head}  {one}" for one in fields] or [head]
