"""What changed in an object since it was read, with everything kept that its class does not know.

A typed object shows only the fields of its class. An update must not delete the others, not even those inside the items
of a list. So the change is *grafted*: found between the typed view then and now, and put onto the document as read.
"""

from typing import Any

from msgspec import Raw

from steersman.objects.codec import bytes_read, decode, decode_as, decode_json, encode, encode_json, to_json
from steersman.objects.resource import KubeObject, Unstructured

#: Members that tell the items of a list apart, in the order in which they are tried.
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

_Document = dict[str, Any]
_Members = dict[str, Raw]


def document_now(obj: KubeObject | Unstructured) -> _Document:
    """Give the whole document of an object as it is now, with the unknown fields it was read with."""
    read = bytes_read(obj)
    if isinstance(obj, Unstructured) or read is None:
        return to_json(obj)
    grafted: _Document = graft(decode_json(read), to_json(decode(type(obj), read)), to_json(obj))
    return grafted


def change_since_read(obj: KubeObject | Unstructured) -> _Document:
    """Give the merge patch of what changed in an object since it was read; empty when nothing did.

    An object that was made here, and not read, is an error that says what to do.
    """
    read = bytes_read(obj)
    if read is None:
        raise ValueError(
            f"{obj!r} was not read from the server, so it is not known what changed: "
            "get it first, or use apply() or replace()"
        )
    if isinstance(obj, Unstructured):
        document = decode_json(read)
        return change(document, document, obj.content)
    before, now = encode(decode(type(obj), read)), encode(obj)
    return {} if before == now else _change_of_members(read, before, now)


def _change_of_members(read: bytes, before: bytes, now: bytes) -> _Document:
    """Give the change between documents that are still bytes; only the members that differ are looked into."""
    old, new = decode_as(_Members, before), decode_as(_Members, now)
    differ = [name for name in {**old, **new} if bytes(old.get(name, b"")) != bytes(new.get(name, b""))]
    parts = (
        {name: decode_json(bytes(members[name])) for name in differ if name in members}
        for members in (decode_as(_Members, read), old, new)
    )
    return change(*parts)


def change(read: _Document, before: _Document, now: _Document) -> _Document:
    """Give the merge patch that makes the change between two typed views, ``before`` and ``now``, in ``read``."""
    patch: _Document = {name: None for name in before if name not in now}
    for name, value in now.items():
        old, source = before.get(name), read.get(name)
        if name in before and _same(old, value):
            continue
        if isinstance(source, dict) and isinstance(old, dict) and isinstance(value, dict):
            if inner := change(source, old, value):
                patch[name] = inner
        else:
            patch[name] = graft(source, old, value)
    return patch


def _same(left: Any, right: Any) -> bool:
    """Tell quickly whether two documents are equal; the texts are compared because ``True == 1`` in Python.

    Members in another order count as different here, which is found out below them.
    """
    return bool(left == right) and encode_json(left) == encode_json(right)


def graft(read: Any, before: Any, now: Any) -> Any:
    """Give ``read`` with the difference between two typed views of it, ``before`` and ``now``, applied."""
    if _same(before, now):
        return read
    if isinstance(read, dict) and isinstance(before, dict) and isinstance(now, dict):
        return _graft_members(read, before, now)
    if isinstance(read, list) and isinstance(before, list) and isinstance(now, list) and len(read) == len(before):
        return _graft_items(read, before, now)
    return now


def _graft_members(read: _Document, before: _Document, now: _Document) -> _Document:
    kept = {name: value for name, value in read.items() if name in now or name not in before}
    for name, value in now.items():
        kept[name] = graft(read[name], before[name], value) if name in read and name in before else value
    return kept


def _graft_items(read: list[Any], before: list[Any], now: list[Any]) -> list[Any]:
    partners = _partners(before, now)
    return [
        item if partner is None else graft(read[partner], before[partner], item)
        for item, partner in zip(now, partners, strict=True)
    ]


def _partners(before: list[Any], now: list[Any]) -> list[int | None]:
    """Say for each item which one it was before, if any: by the member that names it, by being equal, or by place."""
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
        # Nothing was added or removed: an item that equals none of the old ones is a changed one.
        return [index if partner is None and index in free else partner for index, partner in enumerate(partners)]
    return partners


def _identity(before: list[Any], now: list[Any]) -> str | None:
    """Give the member that all items have and that is different in each of them."""
    if not all(isinstance(item, dict) for item in (*before, *now)):
        return None
    return next(
        (name for name in _IDENTITIES if _tells_apart(name, before) and _tells_apart(name, now)),
        None,
    )


def _tells_apart(name: str, items: list[_Document]) -> bool:
    values = [item.get(name) for item in items]
    scalars = all(isinstance(value, (str, int)) for value in values)
    return scalars and len({_text(value) for value in values}) == len(values)


def _text(value: Any) -> tuple[str, str]:
    return type(value).__name__, str(value)
