"""Detect changes of the reconciled object that are never written: its spec, labels and so on.

A run gets a copy of its object, and only the status is written afterwards. Code that sets anything else seems to work
and has no effect. The check encodes the object before and after the run, so only some runs are checked: such a mistake
happens in all of them.
"""

from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject

#: The first runs of a reconciler are checked, and afterwards one in so many.
FIRST_RUNS, ONE_IN = 64, 64

#: The part of the object that is written after the run.
_WRITTEN = "status"
#: Without finalizers: the framework itself sets them in the object.
_METADATA = ("labels", "annotations", "owner_references")


def is_checked(run: int) -> bool:
    """Return whether the run with this number is checked."""
    return run <= FIRST_RUNS or run % ONE_IN == 0


def _parts(obj: KubeObject) -> JsonObject:
    content = {name: getattr(obj, name) for name in obj.__struct_fields__ if name not in ("metadata", _WRITTEN)}
    return content | {f"metadata.{name}": getattr(obj.metadata, name) for name in _METADATA}


class Snapshot:
    """The parts of an object that a run must not change, as they were before."""

    def __init__(self, obj: KubeObject) -> None:
        self._obj = obj
        self._before = encode_json(_parts(obj))

    def changed(self) -> list[str]:
        """Return the names of the parts that have changed."""
        after = encode_json(_parts(self._obj))
        if after == self._before:
            return []
        old, new = decode_json(self._before), decode_json(after)
        return [name for name in new if new[name] != old.get(name)]


def advice(kind: str, parts: list[str]) -> str:
    """Return what is wrong about changing these parts, and what to do instead."""
    changed = ", ".join(parts)
    return (
        f"the reconciler changes {changed} of the {kind} that it reconciles, and only the status is written: "
        f"write it with ctx.update or ctx.patch, or work on a copy (copy.deepcopy)"
    )
