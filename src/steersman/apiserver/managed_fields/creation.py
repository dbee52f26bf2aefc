"""`Creation`: what the creator of an object owns, for new objects of one type.

It is what the comparison with nothing gives, by the same rules; since it depends on the object's shape alone, it is
worked out once per shape.
"""

from steersman.apiserver.managed_fields.compare import Comparison
from steersman.apiserver.managed_fields.entries import stripped
from steersman.apiserver.managed_fields.field_set import Fields
from steersman.apiserver.managed_fields.field_types import FieldType
from steersman.apiserver.managed_fields.outline import Outline
from steersman.json_types import JsonObject

#: Shapes of whole objects that are remembered.
_MOST = 256


class Creation:
    """The creators of objects of one type, at one endpoint."""

    __slots__ = ("_outline", "_owned", "_reset_fields")

    def __init__(self, kind: FieldType, reset_fields: Fields) -> None:
        self._outline = Outline(kind)
        self._reset_fields = reset_fields
        #: What is owned, by the address of an object's node; beside it the node, so that the address stays its own.
        self._owned: dict[int, tuple[Fields, Fields]] = {}

    def fields(self, new: JsonObject) -> Fields | None:
        """Return what the creator of an object owns; ``None`` if that takes the full comparison."""
        node = self._outline.of(new)
        if node is None:
            return None
        found = self._owned.get(id(node))
        if found is None:
            if len(self._owned) >= _MOST:
                self._owned.clear()
            found = self._owned[id(node)] = (self._owned_of(node), node)
        return found[0]

    def _owned_of(self, node: Fields) -> Fields:
        added = {element: below for element, below in node.items() if element != "."}
        return stripped(Comparison({}, {}, added).without(self._reset_fields).set_now)
