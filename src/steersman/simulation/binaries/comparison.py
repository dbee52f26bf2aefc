"""What of an object is compared between two runs in real time. Pure.

Left out is what depends on how often, or in which order, things happened on the way: generations, the bookkeeping of
controllers, and the order of lists whose items have names. Programs in Go iterate over maps in a random order, so lists
that are made from maps differ from run to run.
"""

from typing import Any

from steersman.json_types import JsonObject
from steersman.simulation.binaries.elections import is_election_object

#: Kinds in which controllers of the cluster record past states.
_BOOKKEEPING = frozenset({"ControllerRevision"})
#: Keys by which items of a list are told apart.
_NAMES = ("name", "type")
#: Lists whose order matters although their items have names.
_ORDERED = frozenset({"initContainers"})


def compared(document: JsonObject | None) -> JsonObject | None:
    """Return what is compared of an object; ``None`` if nothing is."""
    if document is None or is_election_object(document) or document["kind"] in _BOOKKEEPING:
        return None
    metadata = {key: value for key, value in document["metadata"].items() if key != "generation"}
    result: JsonObject = _ordered({**document, "metadata": metadata})
    if isinstance(status := result.get("status"), dict):
        status.pop("observedGeneration", None)
    return result


def _ordered(value: Any) -> Any:
    """Return a value with lists of named items in the order of their names."""
    match value:
        case dict():
            return {key: value[key] if key in _ORDERED else _ordered(value[key]) for key in value}
        case list():
            items = [_ordered(item) for item in value]
            name = next((key for key in _NAMES if all(isinstance(one, dict) and key in one for one in items)), None)
            return sorted(items, key=lambda item: str(item[name])) if name is not None else items
        case _:
            return value
