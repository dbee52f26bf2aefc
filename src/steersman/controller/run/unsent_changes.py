"""Finds changes that an author makes to the reconciled object itself and that nothing writes: spec, labels and so on.

A run is handed a copy of its object, and only its status is written afterwards. Code that sets anything else seems to
work and has no effect. Looking costs an encoding before and after the run, so that not every run is looked at: such a
mistake is made in all of them.
"""

from typing import Any

from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject

#: So many runs of a reconciler are looked at first, and one in so many afterwards.
FIRST_RUNS, ONE_IN = 64, 64

#: The part of the object that is written after the run.
_WRITTEN = "status"
#: Finalizers are left out: the framework itself sets them in the object.
_METADATA = ("labels", "annotations", "owner_references")


def is_looked_at(run: int) -> bool:
    """Return whether a run, by its number, is looked at."""
    return run <= FIRST_RUNS or run % ONE_IN == 0


def _parts(obj: KubeObject) -> dict[str, Any]:
    content = {name: getattr(obj, name) for name in obj.__struct_fields__ if name not in ("metadata", _WRITTEN)}
    return content | {f"metadata.{name}": getattr(obj.metadata, name) for name in _METADATA}


class Snapshot:
    """The parts of an object that a run must not change, as they were."""

    def __init__(self, obj: KubeObject) -> None:
        self._obj = obj
        self._before = encode_json(_parts(obj))

    def changed(self) -> list[str]:
        """Return the names of the parts that have changed since."""
        after = encode_json(_parts(self._obj))
        if after == self._before:
            return []
        old, new = decode_json(self._before), decode_json(after)
        return [name for name in new if new[name] != old.get(name)]


def advice(kind: str, parts: list[str]) -> str:
    """Return what is wrong with changing these parts, and what to do instead."""
    changed = ", ".join(parts)
    return (
        f"the reconciler changes {changed} of the {kind} that it reconciles, and only the status is written: "
        f"write it with ctx.update or ctx.patch, or work on a copy (copy.deepcopy)"
    )
