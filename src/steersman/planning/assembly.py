"""From what a plan has recorded to the `Plan`: differences, without secrets, in a stable order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from steersman.history.differences import field_changes, without_bookkeeping, without_confidential
from steersman.history.records import FieldChange, ObjectName
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.changes import Place, RunOf
from steersman.planning.plan import Action, Change, NoOpWrites, SkippedCall
from steersman.planning.redaction import Redaction
from steersman.planning.services import RecordedCall
from steersman.planning.shadow import Shadow, metadata_of
from steersman.protocol.confidential import is_confidential_resource

#: Number of changed fields of one object that are listed: more are not readable.
MOST_FIELDS = 1000


class Assembly:
    """Derives the changes of a plan from the state of its shadow."""

    def __init__(self, shadow: Shadow, redaction: Redaction) -> None:
        self._shadow = shadow
        self._redaction = redaction

    def changes_by_run(self) -> dict[RunOf | None, list[Change]]:
        """Return every change, by the run that first wrote the object."""
        found: dict[RunOf | None, list[Change]] = {}
        log = self._shadow.log
        for place in log.before:
            record = self._shadow.record(place)
            change = self._change(place, log.origin(place), None if record is None else record.raw)
            if change is not None:
                found.setdefault(next(iter(log.runs[place])), []).append(change)
        for changes in found.values():
            changes.sort(key=lambda change: (change.object.kind, change.object))
        return found

    def proposed(self) -> tuple[Change, ...]:
        """Return the changes that the plan takes as given."""
        log = self._shadow.log
        found = (self._change(place, log.before[place], after) for place, after in log.given.items())
        return tuple(change for change in found if change is not None)

    def no_ops_by_run(self) -> dict[RunOf | None, list[NoOpWrites]]:
        """Return the writes to objects that end as they were, by the run that made them."""
        found: dict[RunOf | None, list[NoOpWrites]] = {}
        log = self._shadow.log
        for place, writes in log.accepted.items():
            if self._is_net_change(place):
                continue
            served = self._shadow.resource(place.resource)
            name = ObjectName(place.resource if served is None else served.kind, place.namespace, place.name)
            for run, count in Counter(write.run for write in writes).items():
                found.setdefault(run, []).append(NoOpWrites(name, count, is_reverted=place in log.before))
        for no_ops in found.values():
            no_ops.sort()
        return found

    def _is_net_change(self, place: Place) -> bool:
        if place not in self._shadow.log.before:
            return False
        before, record = self._shadow.log.origin(place), self._shadow.record(place)
        if before is None or record is None:
            return before is not None or record is not None
        return without_bookkeeping(decode_json(before)) != without_bookkeeping(record.decode())

    def _change(self, place: Place, before: bytes | None, after: bytes | None) -> Change | None:
        """Return what the plan does to one object; ``None`` if it ends as it was."""
        old = None if before is None else without_bookkeeping(decode_json(before))
        new = None if after is None else without_bookkeeping(decode_json(after))
        shown = new if new is not None else old
        if shown is None or old == new:
            return None
        log = self._shadow.log
        is_secret = is_confidential_resource(place.resource.partition(".")[0])
        old, new = (None if one is None else self._redaction.document(place.resource, one) for one in (old, new))
        action = _action(old, new)
        return Change(
            action=action,
            object=ObjectName(shown["kind"], place.namespace, place.name),
            api_version=shown["apiVersion"],
            fields=_fields(action, old or {}, new or {}, is_secret=is_secret),
            is_cascade=place in log.cascades,
            judged_locally=log.judged_locally.get(place, ""),
            before=b"" if old is None else encode_json(_shown(old, is_secret=is_secret)),
            after=b"" if new is None else encode_json(_shown(new, is_secret=is_secret)),
        )


def _shown(document: JsonObject, *, is_secret: bool) -> JsonObject:
    """Return an object as it is shown: by the rule of its fields, and a Secret with the hashes that it has already."""
    return document if is_secret else without_confidential(document)


def _fields(action: Action, old: JsonObject, new: JsonObject, *, is_secret: bool) -> tuple[FieldChange, ...]:
    if action is Action.DELETE:
        return ()
    if action is Action.REPLACE:
        # Two objects always differ in these fields, and the action already says that they are two.
        old, new = (_without_identity(one) for one in (old, new))
    return _secret_fields(old, new) if is_secret else field_changes(old, new, limit=MOST_FIELDS)[0]


def _without_identity(document: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in metadata_of(document).items() if key not in ("uid", "creationTimestamp")}
    return {**document, "metadata": metadata}


def _secret_fields(old: JsonObject, new: JsonObject) -> tuple[FieldChange, ...]:
    """Return how two Secrets differ: their data are hashes already, so that a difference can be shown."""
    fields: list[FieldChange] = []
    for part in ("data", "stringData"):
        before, after = old.get(part) or {}, new.get(part) or {}
        fields += [
            FieldChange(f"{part}.{key}", before.get(key, ""), after.get(key, ""))
            for key in dict.fromkeys([*before, *after])
            if before.get(key) != after.get(key)
        ]
    plain = [{key: value for key, value in one.items() if key not in ("data", "stringData")} for one in (old, new)]
    return (*field_changes(plain[0], plain[1], limit=MOST_FIELDS)[0], *fields)


def counted(calls: Iterable[RecordedCall], redaction: Redaction) -> tuple[SkippedCall, ...]:
    """Return calls that were not made, equal ones together."""
    counts = Counter((redaction.masked(call.system), redaction.masked(call.description)) for call in calls)
    return tuple(sorted(SkippedCall(system, description, count) for (system, description), count in counts.items()))


def _action(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Action:
    if new is None:
        return Action.DELETE
    if old is None:
        return Action.CREATE
    if metadata_of(old).get("uid") != metadata_of(new).get("uid"):
        return Action.REPLACE
    deleted = "deletionTimestamp" in metadata_of(new) and "deletionTimestamp" not in metadata_of(old)
    return Action.DELETE if deleted else Action.CHANGE
