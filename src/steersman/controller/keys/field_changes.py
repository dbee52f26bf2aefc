"""Which fields of an object changed, by name: for people who look for the one that flaps."""

from steersman.errors import DecodeError
from steersman.informer.record import Record
from steersman.objects.codec import decode_json
from steersman.protocol.patches import json_patch_between

#: Fields that change with every write, whatever it was.
_ALWAYS = ("/metadata/resourceVersion", "/metadata/generation")
#: How many fields are named.
_NAMED = 5


def changed_fields(old: Record, new: Record) -> tuple[str, ...]:
    """Name the fields in which two states of an object differ, as JSON pointers; at most a few."""
    try:
        operations = json_patch_between(decode_json(old.data), decode_json(new.data))
    except DecodeError:
        return ()
    paths = dict.fromkeys(str(operation["path"]) for operation in operations)
    return tuple(path for path in paths if path not in _ALWAYS)[:_NAMED]
