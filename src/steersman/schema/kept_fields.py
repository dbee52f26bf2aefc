"""Fields that another version has no place for: an annotation keeps them on the way there, and they come back with it.

A kept field comes back only if what the other version says of it has not changed meanwhile, so that nobody's change is
undone; and only if the object is valid with it, since anybody may write annotations.
"""

from collections.abc import Callable, Iterable
from typing import Any

from steersman.errors import DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.schema.object_paths import ObjectPath, put_at, value_at


def annotation_of(group: str, version: str) -> str:
    """Name the annotation that keeps fields of a version."""
    return f"{group}/kept-from-{version}"


def keep(before: JsonObject, made: JsonObject, back: JsonObject, paths: Iterable[ObjectPath], annotation: str) -> None:
    """Write the fields of an object that its converted form would not give back into an annotation of that."""
    kept = {}
    for path in paths:
        was, seen = value_at(before, path), value_at(back, path)
        if was is not ABSENT and was != seen:
            kept[_text(path)] = {"was": was} if seen is ABSENT else {"was": was, "seen": seen}
    if kept:
        annotations = made["metadata"].setdefault("annotations", {})
        annotations[annotation] = encode_json(kept).decode()


def take_kept(document: JsonObject, annotation: str) -> JsonObject:
    """Take the annotation off an object and give what it kept; nothing if somebody has spoilt it."""
    metadata = document["metadata"]
    annotations = metadata.get("annotations") or {}
    text = annotations.pop(annotation, None)
    if text is None:
        return {}
    if not annotations:
        del metadata["annotations"]
    try:
        kept = decode_json(text)
    except DecodeError:
        return {}
    return kept if isinstance(kept, dict) else {}


def bring_back(
    made: JsonObject, kept: JsonObject, paths: Iterable[ObjectPath], is_valid: Callable[[JsonObject], bool]
) -> None:
    """Put kept fields back where they were, those that are declared as kept."""
    for path in paths:
        entry = kept.get(_text(path))
        if not isinstance(entry, dict) or "was" not in entry:
            continue
        now: Any = value_at(made, path)
        if now == entry.get("seen", ABSENT):
            trial = decode_json(encode_json(made))
            if put_at(trial, path, entry["was"]) and is_valid(trial):
                put_at(made, path, entry["was"])


def _text(path: ObjectPath) -> str:
    return "." + ".".join(path)
