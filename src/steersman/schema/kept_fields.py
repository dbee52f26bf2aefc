"""Fields that another version does not have: an annotation keeps them during a conversion, and restores them.

A kept field is restored only if the other version's value has not changed meanwhile, so that no change is undone; and
only if the object is valid with it, since any client may write annotations.
"""

from collections.abc import Callable, Iterable
from typing import Any

from steersman.errors import DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.schema.object_paths import ObjectPath, put_at, value_at


def annotation_of(group: str, version: str) -> str:
    """Return the name of the annotation that keeps fields of a version."""
    return f"{group}/kept-from-{version}"


def keep(before: JsonObject, made: JsonObject, back: JsonObject, paths: Iterable[ObjectPath], annotation: str) -> None:
    """Write the fields of an object that its converted form lacks into an annotation of that form."""
    kept = {}
    for path in paths:
        was, seen = value_at(before, path), value_at(back, path)
        if was is not ABSENT and was != seen:
            kept[_text(path)] = {"was": was} if seen is ABSENT else {"was": was, "seen": seen}
    if kept:
        annotations = made["metadata"].setdefault("annotations", {})
        annotations[annotation] = encode_json(kept).decode()


def take_kept(document: JsonObject, annotation: str) -> JsonObject:
    """Remove the annotation from an object and return what it kept; empty if it is invalid."""
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
    """Restore kept fields, if they are declared as kept."""
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
