"""From what a plan has recorded to the `Plan`: differences, without secrets, in a stable order."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping
from secrets import token_bytes
from typing import Any, TypeVar, cast

from steersman.controller.recording.secret_learning import values_of
from steersman.history.differences import field_changes, without_bookkeeping
from steersman.history.records import FieldChange, ObjectName
from steersman.history.redaction import SecretMemory
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.changes import Place, RunOf
from steersman.planning.plan import Action, Call, Change
from steersman.planning.services import Call as MissedCall
from steersman.planning.shadow import Shadow, metadata_of
from steersman.protocol.confidential import is_confidential_resource

T = TypeVar("T")

#: Fields of one object that are listed; a difference of more is not for reading.
MOST_FIELDS = 1000


class Redaction:
    """Replaces the content of Secrets by hashes that only mean something within one plan, and masks copies of it."""

    def __init__(self, memory: SecretMemory, key: bytes = b"") -> None:
        self._memory = memory
        # A plain hash of a short password can be found by trying; without the key it cannot.
        self._key = key or token_bytes(32)

    def learn(self, secret: JsonObject) -> None:
        """Recognise the values of a Secret from now on."""
        self._memory.learn(values_of(secret))

    def secret(self, document: JsonObject) -> JsonObject:
        """Return a Secret with the values of its data as hashes."""
        hidden = {
            part: {name: self._hash(value) for name, value in values.items()}
            for part in ("data", "stringData")
            if isinstance(values := document.get(part), dict)
        }
        metadata = dict(metadata_of(document))
        if annotations := metadata.get("annotations"):
            # That of `kubectl apply` holds the whole Secret.
            metadata["annotations"] = {name: self._hash(value) for name, value in annotations.items()}
        return {**document, "metadata": metadata, **hidden}

    def _hash(self, value: object) -> str:
        digest = hmac.new(self._key, str(value).encode(), hashlib.sha256).hexdigest()
        return f"<hash {digest[:12]}>"

    def masked(self, value: T) -> T:
        """Return a JSON value with the contents of Secrets masked in its texts."""
        if not self._memory.has_values:
            return value
        if isinstance(value, dict):
            return cast("T", {key: self.masked(inner) for key, inner in value.items()})
        if isinstance(value, list):
            return cast("T", [self.masked(inner) for inner in value])
        return cast("T", self._memory.mask(value)) if isinstance(value, str) else value


class Assembly:
    """Makes changes of the state of a shadow."""

    def __init__(self, shadow: Shadow, redaction: Redaction) -> None:
        self._shadow = shadow
        self._redaction = redaction
        for record in shadow.server.objects.records_of("secrets"):
            redaction.learn(record.decode())
        for place, data in shadow.log.before.items():
            if place.resource == "secrets" and data is not None:
                redaction.learn(decode_json(data))

    def changes_by_run(self) -> dict[RunOf | None, list[Change]]:
        """Return every change, by the run that first wrote the object."""
        found: dict[RunOf | None, list[Change]] = {}
        log = self._shadow.log
        for place, before in log.before.items():
            record = self._shadow.record(place)
            change = self._change(place, before, None if record is None else record.raw)
            if change is not None:
                found.setdefault(next(iter(log.runs[place])), []).append(change)
        for changes in found.values():
            changes.sort(key=lambda change: (change.object.kind, change.object))
        return found

    def _change(self, place: Place, before: bytes | None, after: bytes | None) -> Change | None:
        """Return what the plan does to one object; ``None`` if it ends as it was."""
        old = None if before is None else without_bookkeeping(decode_json(before))
        new = None if after is None else without_bookkeeping(decode_json(after))
        shown = new if new is not None else old
        if shown is None or old == new:
            return None
        log = self._shadow.log
        is_secret = is_confidential_resource(place.resource.partition(".")[0])
        hide = self._redaction.secret if is_secret else self._redaction.masked
        old, new = (None if one is None else hide(one) for one in (old, new))
        action = _action(old, new)
        return Change(
            action=action,
            object=ObjectName(shown["kind"], place.namespace, place.name),
            api_version=shown["apiVersion"],
            fields=() if action is Action.DELETE else _fields(old or {}, new or {}, is_secret=is_secret),
            is_cascade=place in log.cascades,
            judged_locally=log.judged_locally.get(place, ""),
            before=b"" if old is None else encode_json(old),
            after=b"" if new is None else encode_json(new),
        )


def _fields(old: JsonObject, new: JsonObject, *, is_secret: bool) -> tuple[FieldChange, ...]:
    return _secret_fields(old, new) if is_secret else field_changes(old, new, limit=MOST_FIELDS)[0]


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


def counted(calls: Iterable[MissedCall]) -> tuple[Call, ...]:
    """Return calls that were not made, equal ones together."""
    counts = Counter((call.system, call.description) for call in calls)
    return tuple(sorted(Call(system, description, count) for (system, description), count in counts.items()))


def _action(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Action:
    if new is None:
        return Action.DELETE
    if old is None:
        return Action.CREATE
    deleted = "deletionTimestamp" in metadata_of(new) and "deletionTimestamp" not in metadata_of(old)
    return Action.DELETE if deleted else Action.CHANGE
