"""The patch of an update: what changed in an object since it was read, keeping fields that its class does not know.

A typed object has only the fields of its class. An update must not delete the others, not even those inside the items
of a list. So the change is computed between the typed view when it was read (``before``) and the typed view ``now``,
and then made in the document as it was ``read``.
"""

from typing import Any

from msgspec import Raw

from steersman.json_types import JsonObject
from steersman.objects.codec import bytes_read, decode, decode_as, decode_json, encode, encode_json, to_json
from steersman.objects.resource import KubeObject, Unstructured

#: Fields that identify the items of a list, in the order in which they are tried.
_IDENTITIES = (
    "name",
    "key",
    "type",
    "uid",
    "id",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "ip",
    "topologyKey",
)

_Members = dict[str, Raw]


def document_now(obj: KubeObject | Unstructured) -> JsonObject:
    """Return the whole document of an object as it is now, with the unknown fields that were read."""
    read = bytes_read(obj)
    if isinstance(obj, Unstructured) or read is None:
        return to_json(obj)
    merged: JsonObject = with_change(decode_json(read), to_json(decode(type(obj), read)), to_json(obj))
    return merged


def change_since_read(obj: KubeObject | Unstructured) -> JsonObject:
    """Return the merge patch of what changed in an object since it was read; empty if nothing did.

    Raises ``ValueError`` for an object that was not read.
    """
    read = bytes_read(obj)
    if read is None:
        raise ValueError(
            f"{obj!r} was not read from the server, so its changes are unknown: "
            "get it first, or use apply() or replace()"
        )
    if isinstance(obj, Unstructured):
        document = decode_json(read)
        return change(document, document, obj.content)
    before, now = encode(decode(type(obj), read)), encode(obj)
    return {} if before == now else _change_of_members(read, before, now)


def _change_of_members(read: bytes, before: bytes, now: bytes) -> JsonObject:
    """Return the change between encoded documents; only the members that differ are decoded."""
    old, new = decode_as(_Members, before), decode_as(_Members, now)
    differ = [name for name in {**old, **new} if bytes(old.get(name, b"")) != bytes(new.get(name, b""))]
    parts = (
        {name: decode_json(bytes(members[name])) for name in differ if name in members}
        for members in (decode_as(_Members, read), old, new)
    )
    return change(*parts)


def change(read: JsonObject, before: JsonObject, now: JsonObject) -> JsonObject:
    """Return the merge patch that makes the change between two typed views, ``before`` and ``now``, in ``read``."""
    patch: JsonObject = {name: None for name in before if name not in now}
    for name, value in now.items():
        old, source = before.get(name), read.get(name)
        if name in before and _same(old, value):
            continue
        if isinstance(source, dict) and isinstance(old, dict) and isinstance(value, dict):
            if inner := change(source, old, value):
                patch[name] = inner
        else:
            patch[name] = with_change(source, old, value)
    return patch


def _same(left: object, right: object) -> bool:
    """Return whether two documents are equal; the texts are compared as well because ``True == 1`` in Python.

    Members in another order count as different here; the comparison of the members then finds them equal.
    """
    return bool(left == right) and encode_json(left) == encode_json(right)


def with_change(read: object, before: object, now: object) -> Any:
    """Return ``read`` with the change between two typed views of it, ``before`` and ``now``."""
    if _same(before, now):
        return read
    if isinstance(read, dict) and isinstance(before, dict) and isinstance(now, dict):
        return _members_with_change(read, before, now)
    if isinstance(read, list) and isinstance(before, list) and isinstance(now, list) and len(read) == len(before):
        return _items_with_change(read, before, now)
    return now


def _members_with_change(read: JsonObject, before: JsonObject, now: JsonObject) -> JsonObject:
    kept = {name: value for name, value in read.items() if name in now or name not in before}
    for name, value in now.items():
        kept[name] = with_change(read[name], before[name], value) if name in read and name in before else value
    return kept


def _items_with_change(read: list[object], before: list[object], now: list[object]) -> list[Any]:
    partners = _partners(before, now)
    return [
        item if partner is None else with_change(read[partner], before[partner], item)
        for item, partner in zip(now, partners, strict=True)
    ]


def _partners(before: list[Any], now: list[Any]) -> list[int | None]:
    """Return for each item its previous index, if any: by the field that identifies it, by equality, or by position."""
    identity = _identity(before, now)
    if identity is not None:
        places = {_text(item[identity]): place for place, item in enumerate(before)}
        return [places.get(_text(item[identity])) for item in now]
    free = dict(enumerate(before))
    partners: list[int | None] = [None] * len(now)
    for index, item in enumerate(now):
        place = next((place for place, old in free.items() if _same(old, item)), None)
        if place is not None:
            del free[place]
            partners[index] = place
    if len(before) == len(now):
        # Nothing was added or removed: an item that equals none of the old ones was changed.
        return [index if partner is None and index in free else partner for index, partner in enumerate(partners)]
    return partners


def _identity(before: list[Any], now: list[Any]) -> str | None:
    """Return the field that all items have with different values."""
    if not all(isinstance(item, dict) for item in (*before, *now)):
        return None
    return next(
        (name for name in _IDENTITIES if _is_unique(name, before) and _is_unique(name, now)),
        None,
    )


def _is_unique(name: str, items: list[JsonObject]) -> bool:
    values = [item.get(name) for item in items]
    scalars = all(isinstance(value, (str, int)) for value in values)
    return scalars and len({_text(value) for value in values}) == len(values)


def _text(value: object) -> tuple[str, str]:
    return type(value).__name__, str(value)
