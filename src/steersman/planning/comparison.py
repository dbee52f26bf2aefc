"""Two plans side by side: what two versions of an operator would do to the same cluster."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from steersman.history.differences import value_text
from steersman.history.records import FieldChange, ObjectName
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.planning.document import ReadPlan, name_document
from steersman.planning.plan import Action, Change, Plan, PlannedObject, of_definitions
from steersman.planning.text import SIGNS, call_text, created_text, nothing_written

_Key: TypeAlias = tuple[str, ObjectName]
#: Fields of one change that are shown.
MOST_LINES: Final = 12
#: Characters of a long text that are shown before the place where it differs.
_BEFORE: Final = 10
#: Fields whose values differ from plan to plan.
_DRAWN: Final = re.compile(
    r"(uid|creationTimestamp|resourceVersion|[tT]ime|ownerReferences.*|clusterIPs?(\[\d+\])?|[nN]odePort)$"
)
#: Beginning of the name of the volume with the token of a pod's service account; admission draws the rest.
_API_ACCESS: Final = "kube-api-access-"
#: A moment, as Kubernetes writes it: two plans are made at two moments.
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
#: Values of such fields that are chosen and not drawn: the address of a headless Service.
_CHOSEN: Final = frozenset({"None", '["None"]'})


class Difference(Struct, frozen=True):
    """What only one of two versions does for an object."""

    object: ObjectName
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]


class Comparison(Struct, frozen=True, kw_only=True):
    """What two versions do differently, and what the reader of that has to know."""

    differences: tuple[Difference, ...] = ()
    #: Objects for which both versions fail in the same way, and how.
    failures: tuple[tuple[ObjectName, str], ...] = ()
    #: Whether the plan of either version is incomplete.
    is_incomplete: bool = False
    notes_here: tuple[str, ...] = ()
    notes_there: tuple[str, ...] = ()
    left_out: int = 0
    has_side_effects: bool = False

    @property
    def exit_code(self) -> int:
        """Exit code of `steer plan --against`: 0 no differences, 2 differences, 1 if a plan is incomplete."""
        if self.is_incomplete:
            return 1
        return 2 if self.differences else 0


def compare_plans(here: Plan, there: ReadPlan) -> Comparison:
    """Return what two versions do differently."""
    ours = (*here.objects, *of_definitions(here.changes))
    differences = compare(ours, there.objects)
    failing = {(one.controller, one.object): _failure(one) for one in map(comparable, ours) if one.is_failure}
    both = [
        (one.object, failure)
        for one in map(comparable, there.objects)
        if (failure := _failure(one)) and failing.get((one.controller, one.object)) == failure
    ]
    return Comparison(
        differences=differences,
        failures=tuple(both),
        is_incomplete=bool(failing) or any(one.is_failure for one in there.objects),
        notes_here=here.notes,
        notes_there=there.notes,
        left_out=max(here.left_out, there.left_out),
        has_side_effects=here.has_side_effects or there.has_side_effects,
    )


def compare(here: Iterable[PlannedObject], there: Iterable[PlannedObject]) -> tuple[Difference, ...]:
    """Return the objects that two versions treat differently, without values that differ from plan to plan."""
    ours, theirs = _by_object(here), _by_object(there)
    found = []
    for key in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(key, ()), theirs.get(key, ())
        only_here, only_there = (_only(one, other, key), _only(other, one, key))
        if only_here or only_there:
            found.append(Difference(key[1], only_here, only_there))
    return tuple(found)


def _by_object(plan: Iterable[PlannedObject]) -> dict[_Key, tuple[PlannedObject, ...]]:
    """Return planned objects by reconciler and object; reconcilers of two operators may have one name."""
    found: dict[_Key, tuple[PlannedObject, ...]] = {}
    for one in map(comparable, plan):
        key = one.controller, one.object
        found[key] = (*found.get(key, ()), one)
    return found


def comparison_text(found: Comparison, there: str) -> str:
    """Return the differences of two plans as people read them; ``there`` is the folder of the other version."""
    return "\n".join(_lines(found, there))


def comparison_document(found: Comparison, there: str) -> JsonObject:
    """Return the differences of two plans as a JSON document."""
    return {
        "against": there,
        "summary": {
            "differences": len(found.differences),
            "failures": len(found.failures),
            "leftOut": found.left_out,
            "isIncomplete": found.is_incomplete,
            "hasSideEffects": found.has_side_effects,
        },
        "differences": [
            {"object": name_document(one.object), "onlyHere": list(one.only_here), "onlyThere": list(one.only_there)}
            for one in found.differences
        ],
        "failures": [{"object": name_document(name), "message": message[2:]} for name, message in found.failures],
        "notesHere": list(found.notes_here),
        "notesThere": list(found.notes_there),
    }


def comparable(one: PlannedObject) -> PlannedObject:
    """Return a planned object with times, and with what is drawn at random, replaced by what they stand for.

    Drawn is the end of a generated name, also of a volume with a token, wherever it occurs, and the content of a Secret
    that is created: a password is another one in each plan.
    """
    drawn = _drawn_names(one.changes) | _drawn_secrets(one.changes)
    known = [re.escape(name) for name in sorted(drawn, key=len, reverse=True)]
    all_known = re.compile("|".join([*known, f"{_API_ACCESS}[a-z0-9]{{5}}"]))
    # A value may be cut within a name.
    prefixes = {re.escape(name.rpartition("<")[0]) for name in drawn.values()} | {_API_ACCESS}
    cut = re.compile(rf"({'|'.join(sorted(prefixes))})\w{{0,5}}…$")

    def text(value: str) -> str:
        value = _TIME.sub("<time>", value)
        return cut.sub(r"\1…", all_known.sub(lambda found: drawn.get(found[0], f"{_API_ACCESS}<1>"), value))

    return replace(
        one,
        message=text(one.message),
        calls=tuple(replace(call, description=text(call.description)) for call in one.calls),
        changes=tuple(
            replace(
                change,
                object=change.object._replace(name=text(change.object.name)),
                fields=tuple(FieldChange(*map(text, field)) for field in change.fields),
                after=text(change.after.decode()).encode(),
            )
            for change in one.changes
        ),
    )


def _drawn_names(changes: Iterable[Change]) -> dict[str, str]:
    """Return generated names and their replacements; numbered by content, so that two plans number them alike."""
    made: dict[str, list[tuple[list[str], str]]] = {}
    for change in changes:
        prefix = _generate_name(change)
        if prefix:
            name = change.object.name
            fields = [str(one).replace(name, "") for one in change.fields if not _is_drawn(one)]
            made.setdefault(prefix, []).append((fields, name))
    return {
        name: f"{prefix}<{number}>"
        for prefix, found in made.items()
        for number, (_, name) in enumerate(sorted(found), start=1)
    }


def _is_drawn(field: FieldChange) -> bool:
    return _DRAWN.search(field.path) is not None and _CHOSEN.isdisjoint((field.before, field.after))


def _generate_name(change: Change) -> str:
    if change.action is not Action.CREATE or not change.after:
        return ""
    metadata: JsonObject = decode_json(change.after).get("metadata") or {}
    return str(metadata.get("generateName") or "")


def _drawn_secrets(changes: Iterable[Change]) -> dict[str, str]:
    """Return the hashes of created Secrets and their replacements."""
    return {
        field.after: f"<{field.path}>"
        for change in changes
        if change.action is Action.CREATE and change.object.kind == "Secret"
        for field in change.fields
        if field.after.startswith("<hash ")
    }


def _lines(found: Comparison, there: str) -> Iterator[str]:
    for one in found.differences:
        yield str(one.object)
        for label, lines in ((f"in {there}", one.only_there), ("here", one.only_here)):
            if lines:
                yield f"  only {label}:"
                yield from (f"    {line}" for line in lines)
    for name, failure in found.failures:
        yield str(name)
        yield f"  in both: {failure}"
    yield _summary(found, there)
    yield from (f"Note: {note}." for note in found.notes_here)
    yield from (f"Note, in {there}: {note}." for note in found.notes_there if note not in found.notes_here)


def _summary(found: Comparison, there: str) -> str:
    count = len(found.differences)
    left_out = f" ({found.left_out:,} left out)" if found.left_out else ""
    if count:
        said = f"{count:,} {'object is' if count == 1 else 'objects are'} planned differently{left_out}."
    elif found.failures:
        said = f"The operator here and the one in {there} fail in the same way{left_out}."
    else:
        said = f"The operator here and the one in {there} do the same{left_out}."
    return f"{said} {nothing_written(has_side_effects=found.has_side_effects)}"


def _only(ones: tuple[PlannedObject, ...], others: tuple[PlannedObject, ...], key: _Key) -> tuple[str, ...]:
    """Return what is done for an object by one version only, one line for each field."""
    controller, name = key
    if not ones:
        # A CRD that is not planned does not change.
        return ("not planned",) if controller else ()
    known = {_identity(change): change for one in others for change in one.changes}
    lines: list[str] = []
    for change in (change for one in ones for change in one.changes):
        other = known.get(_identity(change))
        if other is not None:
            theirs = set(_field_lines(other, name.namespace))
            own = [line for line in _field_lines(change, name.namespace) if line not in theirs]
            lines += own or _cut_lines(change, other, name.namespace)
        else:
            lines += _change_lines(change, name.namespace)
    known_ends = {end for one in others for end in _ends(one)}
    return (*lines, *(end for one in ones for end in _ends(one) if end not in known_ends))


def _ends(one: PlannedObject) -> list[str]:
    """Return what else is done for an object, as lines: calls that are not made, and a failure."""
    calls = [f"not called: {call_text(call)}" for call in one.calls]
    return [*calls, *filter(None, [_failure(one)])]


def _failure(one: PlannedObject) -> str:
    return f"! {one.message or 'does not come to rest'}" if one.is_failure else ""


def _identity(change: Change) -> tuple[Action, str, ObjectName]:
    return change.action, change.api_version, change.object


def _change_lines(change: Change, namespace: str) -> list[str]:
    """Return what a change does that only one version makes; a new object is one line, however many fields it has."""
    if change.action is Action.CREATE:
        return ["  ".join([_head(change, namespace), *(created_text(change) if change.after else ())])]
    lines = _field_lines(change, namespace)
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES:,} more fields"]


def _field_lines(change: Change, namespace: str) -> list[str]:
    head = _head(change, namespace)
    fields = [one for one in change.fields if not _is_drawn(one)]
    return [f"{head}  {one}" for one in fields] or [head]


def _cut_lines(change: Change, other: Change, namespace: str) -> list[str]:
    """Return the values that differ only where the lines of fields are cut: at their end, or inside of a list."""
    if not change.after or not other.after:
        return []
    ours, theirs = (dict(_values("", decode_json(one.after))) for one in (change, other))
    differing = {path: value for path, value in ours.items() if theirs.get(path) != value}
    lines = [
        f"{_head(change, namespace)}  {path} {value_text(_from_difference(value, theirs.get(path)))}"
        for path, value in differing.items()
        if not _is_drawn(FieldChange(path, "", str(value)))
    ]
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES:,} more values"]


def _values(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield every value of a document with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(f"{path}.{key}" if path else key, inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _values(f"{path}[{number}]", inner)
    else:
        yield path, value


def _from_difference(value: object, other: object) -> object:
    """Return a long text from shortly before the place where it differs from the other one."""
    if not isinstance(value, str) or not isinstance(other, str):
        return value
    same = next((index for index, pair in enumerate(zip(value, other, strict=False)) if pair[0] != pair[1]), None)
    start = (min(len(value), len(other)) if same is None else same) - _BEFORE
    return f"…{value[start:]}" if start > _BEFORE else value


def _head(change: Change, namespace: str) -> str:
    return f"{SIGNS[change.action]} {change.object.within(namespace)}"
