"""A plan as text: one block for each object, one line for each field, a summary at the end.

::

    CustomPod default/a
      ~ Deployment web        spec.template.spec.containers[main].image  app:1 → app:2
      + ConfigMap web-config  3 keys
    CustomPod default/b       no changes
    2 objects planned in 1.4 s: 1 create, 1 change, 0 deletes. Nothing was written.
    Not called: 2 requests to https://dns.example.com (POST).
"""

from collections.abc import Callable, Iterator
from typing import Final

from steersman.history.records import FieldChange, Result
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.planning.plan import Action, Change, NoOpWrites, Plan, PlannedObject, SkippedCall

#: Fields of one object that are shown.
_FIELDS: Final = 12
#: Up to so many objects are listed even if nothing changes.
_UNCHANGED: Final = 20
SIGNS: Final = {Action.CREATE: "+", Action.CHANGE: "~", Action.DELETE: "-", Action.REPLACE: "-/+"}
_COLOURS: Final = {Action.CREATE: "green", Action.CHANGE: "yellow", Action.DELETE: "red", Action.REPLACE: "red"}
#: Number of objects with ineffective writes that are named.
_NAMED: Final = 3
#: Fields that say when something changed, beside the field that did.
_TIMES: Final = ("lastTransitionTime", "lastUpdateTime", "observedGeneration")
_CONDITIONS: Final = "status.conditions"
_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

#: Colours a text: the text and the name of a colour.
Style = Callable[[str, str], str]


def plain(text: str, colour: str) -> str:  # noqa: ARG001 - a Style
    """Return a text without colours."""
    return text


def plan_text(plan: Plan, style: Style = plain) -> str:
    """Return a plan as people read it."""
    return "\n".join(_lines(plan, style))


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    if plan.proposed:
        yield "Proposed"
        yield from _changes(plan.proposed, "", style)
    if plan.changes:
        yield f"Operator {', '.join(plan.operators)}"
        yield from _changes(plan.changes, "", style)
    shows_unchanged = len(plan.objects) <= _UNCHANGED
    for one in plan.objects:
        if not one.is_unchanged or one.is_failure or shows_unchanged:
            yield from _object(one, style)
    yield summary(plan)
    if plan.no_ops:
        yield _no_ops(plan.no_ops)
    for call in plan.calls:
        yield f"Not called: {call_text(call)}."
    yield from (f"Note: {note}." for note in plan.notes)


def summary(plan: Plan) -> str:
    """Return one line about a plan."""
    counts = [
        _number(count, action.value)
        for action in Action
        if (count := plan.count(action)) or action is not Action.REPLACE
    ]
    unchanged = sum(one.is_unchanged and not one.is_failure for one in plan.objects)
    hidden = f", {unchanged:,} without changes" if len(plan.objects) > _UNCHANGED and unchanged else ""
    failed = f", {_number(len(plan.failures), 'failure')}" if plan.failures else ""
    left_out = f" ({plan.left_out:,} left out)" if plan.left_out else ""
    objects = _number(len(plan.objects), "object")
    return (
        f"{objects}{left_out} planned in {plan.seconds:.1f} s: {', '.join(counts)}{hidden}{failed}. "
        f"{nothing_written(has_side_effects=plan.has_side_effects)}"
    )


def nothing_written(*, has_side_effects: bool) -> str:
    """Return the sentence that a plan ends with; what the operator did by itself may have written something."""
    return "Nothing was written by the plan, see the notes." if has_side_effects else "Nothing was written."


def _no_ops(no_ops: tuple[NoOpWrites, ...]) -> str:
    """Return a line about writes that change nothing."""
    count = sum(one.count for one in no_ops)
    names = list(dict.fromkeys(f"{one.object}{' (changed back)' if one.is_reverted else ''}" for one in no_ops))
    more = f" and {_number(len(names) - _NAMED, 'more object')}" if len(names) > _NAMED else ""
    verb = "changes" if count == 1 else "change"
    return f"{_number(count, 'write')} {verb} nothing: {', '.join(names[:_NAMED])}{more}."


def _object(one: PlannedObject, style: Style) -> Iterator[str]:
    end = _end(one)
    if not one.changes and not end:
        yield f"{one.object}  {'only calls to other systems' if one.calls else 'no changes'}"
        return
    yield str(one.object)
    yield from _changes(one.changes, one.object.namespace, style)
    if end:
        yield f"  {style('!', 'red') if one.is_failure else '…'} {end}"


def _end(one: PlannedObject) -> str:
    """Return how the last run ended, if not with success."""
    if not one.is_at_rest:
        return f"{one.message or 'does not come to rest: still changes something'} after {one.runs} runs"
    match one.result:
        case Result.DONE:
            return ""
        case Result.FAILED:
            return f"fails: {one.message}"
        case Result.WAITING:
            return f"waits for {one.waits_for}: {one.message}"
        case Result.GAVE_UP:
            return f"gives up: {one.message}"
        case Result.PAUSED:
            return f"is paused: {one.message}"
        case _:
            return f"tries again later: {one.message}"


def _changes(changes: tuple[Change, ...], namespace: str, style: Style) -> Iterator[str]:
    names = [change.object.within(namespace) for change in changes]
    width = max(map(len, names), default=0)
    signs = max((len(SIGNS[change.action]) for change in changes), default=0)
    for change, name in zip(changes, names, strict=True):
        sign = SIGNS[change.action]
        head = f"  {style(sign, _COLOURS[change.action])}{'':{signs - len(sign)}} {name.ljust(width)}"
        details = _details(change) or [""]
        yield f"{head}  {details[0]}".rstrip()
        yield from (f"   {'':{signs + width}}  {detail}" for detail in details[1:])


def _details(change: Change) -> list[str]:
    if change.action is Action.DELETE:
        if change.is_cascade:
            return ["because its owner is deleted"]
        return ["waits for its finalizers"] if change.after else []
    if change.action is Action.CREATE:
        return created_text(change)
    if change.action is Action.REPLACE:
        return ["replaced: deleted and created again", *_changed(change)]
    return _changed(change)


def _changed(change: Change) -> list[str]:
    fields = [one for one in change.fields if not one.path.startswith(_CONDITIONS)]
    lines = [_field(one) for one in fields if not one.path.endswith(_TIMES)] + _conditions(change)
    lines = lines or [_field(one) for one in change.fields]
    if len(lines) > _FIELDS:
        return [*lines[:_FIELDS], f"and {_number(len(lines) - _FIELDS, 'more field')}"]
    return lines


def _conditions(change: Change) -> list[str]:
    """Return the conditions that change, each on one line."""
    before, after = (_conditions_of(document) for document in (change.before, change.after))
    return [
        _field(FieldChange(f"{_CONDITIONS}[{type_}]", before.get(type_, ""), after.get(type_, "")))
        for type_ in dict.fromkeys([*before, *after])
        if before.get(type_) != after.get(type_)
    ]


def _conditions_of(data: bytes) -> dict[str, str]:
    status = decode_json(data).get("status") if data else None
    found = status.get("conditions") if isinstance(status, dict) else None
    if not isinstance(found, list):
        return {}
    return {one["type"]: _condition(one) for one in found if isinstance(one, dict) and "type" in one}


def _condition(condition: JsonObject) -> str:
    reason, message = condition.get("reason"), condition.get("message")
    return f"{condition.get('status')}{f' ({reason})' if reason else ''}{f': {message}' if message else ''}"


def created_text(change: Change) -> list[str]:
    """Return what is most worth knowing of a new object: its keys or its images."""
    document = decode_json(change.after)
    keys = {*(document.get("data") or {}), *(document.get("binaryData") or {})}
    if keys:
        return [_number(len(keys), "key")]
    images = list(dict.fromkeys(_images(document)))
    return [", ".join(images)] if images else []


def _images(value: object) -> Iterator[str]:
    """Yield the images of the containers in an object, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "image" and isinstance(inner, str):
                yield inner
            else:
                yield from _images(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _images(inner)


def _field(change: FieldChange) -> str:
    if not change.before:
        return f"{change.path}  {change.after} (new)"
    return f"{change.path}  {change.before} → {change.after or '(removed)'}"


def call_text(call: SkippedCall) -> str:
    """Return a call that was not made."""
    if call.description in _METHODS:
        return f"{_number(call.count, 'request')} to {call.system} ({call.description})"
    times = f" ({call.count} times)" if call.count > 1 else ""
    return f"{call.system}, {call.description}{times}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
