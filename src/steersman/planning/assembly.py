"""From what a plan has recorded to the `Plan`: differences, without secrets, in a stable order."""

import hashlib
import hmac
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterable, Mapping
from secrets import token_bytes
from typing import Any

from steersman.history.differences import field_changes, without_bookkeeping
from steersman.history.records import FieldChange, ObjectName
from steersman.history.redaction import Redactor, SecretMemory
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.planning.changes import Place, RunOf
from steersman.planning.plan import Action, Call, Change
from steersman.planning.services import Call as MissedCall
from steersman.planning.shadow import Shadow, metadata_of
from steersman.protocol.confidential import is_confidential_resource

#: Fields of one object that are listed; a difference of more is not for reading.
MOST_FIELDS = 1000


class Redaction:
    """Replaces the content of Secrets by hashes that only mean something within one plan."""

    def __init__(self, key: bytes | None = None) -> None:
        # A plain hash of a short password can be found by trying; without the key it cannot.
        self._key = key if key is not None else token_bytes(32)

    def secret(self, document: JsonObject) -> JsonObject:
        """Return a Secret with the values of its data as hashes."""
        hidden = {
            part: {name: self._hash(value) for name, value in values.items()}
            for part in ("data", "stringData")
            if isinstance(values := document.get(part), dict)
        }
        metadata = {key: value for key, value in metadata_of(document).items() if key != "annotations"}
        return {**document, "metadata": metadata, **hidden}

    def _hash(self, value: object) -> str:
        digest = hmac.new(self._key, str(value).encode(), hashlib.sha256).hexdigest()
        return f"<hash {digest[:12]}>"


class Assembly:
    """Makes changes of the state of a shadow."""

    def __init__(self, shadow: Shadow, redaction: Redaction) -> None:
        self._shadow = shadow
        self._redaction = redaction
        self._redactors: dict[str, Redactor] = {}

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
        if is_secret:
            old = None if old is None else self._redaction.secret(old)
            new = None if new is None else self._redaction.secret(new)
        action = _action(old, new)
        fields = () if action is Action.DELETE else self._fields(place.namespace, old, new, is_secret=is_secret)
        return Change(
            action=action,
            object=ObjectName(shown["kind"], place.namespace, place.name),
            api_version=shown["apiVersion"],
            fields=fields,
            is_cascade=place in log.cascades,
            judged_locally=log.judged_locally.get(place, ""),
            before=b"" if old is None else encode_json(old),
            after=b"" if new is None else encode_json(new),
        )

    def _fields(
        self, namespace: str, old: JsonObject | None, new: JsonObject | None, *, is_secret: bool
    ) -> tuple[FieldChange, ...]:
        if is_secret:
            return _secret_fields(old or {}, new or {})
        return field_changes(old or {}, new or {}, self._redactor(namespace).text, limit=MOST_FIELDS)[0]

    def _redactor(self, namespace: str) -> Redactor:
        """Return what masks the contents of the Secrets of a namespace that the plan has read."""
        known = self._redactors.get(namespace)
        if known is None:
            records = self._shadow.server.objects.records_of("secrets", namespace) if namespace else []
            former = [
                data for place, data in self._shadow.log.before.items() if place[:2] == ("secrets", namespace) and data
            ]
            documents = [*(record.decode() for record in records), *map(decode_json, former)]
            values = [value for document in documents for value in _secret_values(document)]
            memory = SecretMemory()
            memory.learn(values)
            known = self._redactors[namespace] = Redactor(memory, values)
        return known


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
    before, after = (
        {key: value for key, value in one.items() if key not in ("data", "stringData")} for one in (old, new)
    )
    return (*field_changes(before, after, limit=MOST_FIELDS)[0], *fields)


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


def _secret_values(document: JsonObject) -> Iterable[bytes]:
    for value in (document.get("data") or {}).values():
        try:
            yield b64decode(value)
        except (NotBase64, TypeError, ValueError):
            continue
