"""What ownership tracking must know of a kind: which parts are leaves, which lists have keys, what is free-form.

A type has up to three branches (map, list, scalar); a value picks the one it fits. Types are built once from OpenAPI
schemas, inline (custom resources) or linked by ``$ref`` (built-in kinds), and never change afterwards. They may be
cyclic.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from steersman.apiserver.managed_fields.path_element import json_text, key_element, value_element
from steersman.json_types import JsonObject

Schema = Mapping[str, Any]

_REF_PREFIX: Final = "#/components/schemas/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


#: Keys of list items that are remembered for one list.
_MOST_KNOWN: Final = 512


class FieldType:
    """The type of one place in an object: any of its branches may be absent, not all of them."""

    __slots__ = ("_holds_atomic", "_is_tight", "list", "map", "scalar")

    def __init__(
        self, *, scalar: str | None = None, list_: "ListType | None" = None, map_: "MapType | None" = None
    ) -> None:
        #: ``numeric``, ``string``, ``boolean`` or ``untyped``.
        self.scalar = scalar
        self.list = list_
        self.map = map_
        self._is_tight: bool | None = None
        self._holds_atomic: bool | None = None

    def branch_of(self, value: object) -> "MapType | ListType | str":
        """Return the branch of a value; null and values that fit nowhere take map, then scalar, then list."""
        kind = value.__class__
        if kind is dict:
            if self.map is not None:
                return self.map
        elif kind is list:
            if self.list is not None:
                return self.list
        elif value is not None and self.scalar is not None:
            return self.scalar
        branch = self.map or self.scalar or self.list
        assert branch is not None, "a type has a branch"  # noqa: S101 - the builder never makes a type without one
        return branch

    @property
    def is_tight(self) -> bool:
        """Whether no place in here takes both booleans and numbers: there, Python's ``==`` on valid values is exact."""
        if self._is_tight is None:
            self._is_tight = _all_tight(self)
        return self._is_tight

    @property
    def is_atomic(self) -> bool:
        """Whether a value here is a leaf although it may have parts."""
        if self.map is not None:
            return self.map.is_atomic
        return self.scalar is None and self.list is not None and self.list.is_atomic

    @property
    def holds_atomic(self) -> bool:
        """Whether a path from here may lead to an atomic part; free-form values do not count."""
        if self._holds_atomic is None:
            self._holds_atomic = any(node.is_atomic for node in _reachable(self) if node is not self)
        return self._holds_atomic


class ListType:
    """A list: atomic, a set (no keys), or items told apart by keys."""

    __slots__ = ("_known", "_only_key", "_prefix", "defaults", "element", "is_atomic", "keys")

    def __init__(self, element: FieldType, *, is_atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.is_atomic = is_atomic
        self.keys = tuple(sorted(keys))
        #: What a missing key counts as.
        self.defaults: JsonObject = {}
        # Most lists have one key: the path element of an item is then a text around its value.
        self._only_key = keys[0] if len(keys) == 1 else None
        self._prefix = f'k:{{"{self._only_key}":'
        #: The path elements of keys that were met: they are few, and come again in every object.
        self._known: dict[str, str] = {}

    def _learn(self, value: object) -> str:
        element = f"{self._prefix}{json_text(value)}}}"
        if value.__class__ is str:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[value] = element
        return element

    def element_of(self, item: object) -> str:
        """Return the path element of an item; raise ValueError if it cannot have one."""
        if not self.keys:
            return value_element(item) if _is_scalar(item) else _refuse_set_item(item)
        if item.__class__ is not dict:
            raise ValueError(_NO_MAP[item is None])
        if self._only_key is not None and self._only_key in item:
            value = item[self._only_key]
            return (value.__class__ is str and self._known.get(value)) or self._learn(value)
        element = key_element(item, self.keys, self.defaults)
        if element is None:
            names = " ".join(f'"{key}"' for key in self.keys)
            raise ValueError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return element


_NO_MAP: Final = {
    True: "associative list with keys may not have a null element",
    False: "associative list with keys may not have non-map elements",
}


def _is_scalar(item: object) -> bool:
    return item is not None and item.__class__ is not dict and item.__class__ is not list


def _refuse_set_item(item: object) -> str:
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    if item.__class__ is dict:
        raise ValueError("associative list without keys has an element that's a map type")
    raise ValueError("not supported: associative list with lists as elements")


class MapType:
    """An object: declared fields, and perhaps a type for all other keys. An atomic one is a leaf."""

    __slots__ = ("element", "elements", "fields", "is_atomic", "names")

    def __init__(self, *, is_atomic: bool = False, element: FieldType | None = None) -> None:
        self.is_atomic = is_atomic
        #: The type of undeclared keys; ``None`` if there may be none.
        self.element = element
        self.fields: dict[str, FieldType] = {}
        #: The path elements of the declared fields, made once.
        self.names: dict[str, str] = {}
        #: The types of the declared fields by path element.
        self.elements: dict[str, FieldType] = {}

    def declare(self, name: str, field: FieldType) -> None:
        """Add a field while the type is being built."""
        self.fields[name] = field
        self.names[name] = f"f:{name}"
        self.elements[f"f:{name}"] = field

    def type_of(self, key: str) -> FieldType:
        """Return the type of a key; an undeclared key counts as free-form."""
        return self.fields.get(key) or self.element or DEDUCED


def _deduced() -> FieldType:
    node = FieldType(scalar="untyped")
    node.list = ListType(node, is_atomic=True)
    node.map = MapType(element=node)
    return node


def _untyped_atomic() -> FieldType:
    node = FieldType(scalar="untyped")
    node.list = ListType(DEDUCED, is_atomic=True)
    node.map = MapType(is_atomic=True, element=DEDUCED)
    return node


#: Free-form: maps are granular, lists are atomic.
DEDUCED: Final = _deduced()
#: Free-form and a leaf: embedded raw JSON.
UNTYPED_ATOMIC: Final = _untyped_atomic()
#: Only managedFields have it, and they are set aside before anything is compared.
_NEVER_COMPARED: Final = FieldType(map_=MapType(is_atomic=True, element=FieldType(scalar="untyped")))
_UNTYPED_SCALAR: Final = FieldType(scalar="untyped")
_SCALARS: Final = {
    "integer": FieldType(scalar="numeric"),
    "number": FieldType(scalar="numeric"),
    "boolean": FieldType(scalar="boolean"),
    "string": FieldType(scalar="string"),
}
_PLAIN_STRING_FORMATS: Final = ("", "byte")


def _all_tight(root: FieldType) -> bool:
    return not any(node is DEDUCED or node is UNTYPED_ATOMIC for node in _reachable(root))


def _reachable(root: FieldType) -> Iterator[FieldType]:
    seen, waiting = {id(root)}, [root]
    while waiting:
        node = waiting.pop()
        yield node
        for below in _below(node):
            if id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)


def _below(node: FieldType) -> list[FieldType]:
    result = [node.list.element] if node.list is not None else []
    if node.map is not None:
        result += node.map.fields.values()
        if node.map.element is not None:
            result.append(node.map.element)
    return result


class TypeBuilder:
    """Builds types from schemas; ``definitions`` resolves the names in ``$ref``."""

    def __init__(self, definitions: Callable[[str], Schema]) -> None:
        self._definitions = definitions
        self._named: dict[str, FieldType] = {
            "io.k8s.apimachinery.pkg.api.resource.Quantity": _UNTYPED_SCALAR,
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _UNTYPED_SCALAR,
            "io.k8s.apimachinery.pkg.runtime.RawExtension": UNTYPED_ATOMIC,
            "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": _NEVER_COMPARED,
        }

    def named(self, name: str) -> FieldType:
        """Return the type of a definition."""
        found = self._named.get(name)
        if found is None:
            # Registered before it is filled in: definitions may contain themselves.
            found = self._named[name] = FieldType()
            self._fill(found, self._definitions(name), is_open=False)
        return found

    def custom_resource(self, schema: Schema) -> FieldType:
        """Return the type of a custom resource from the schema in its CRD."""
        return self._inline(_with_object_fields(schema), is_open=False)

    def _inline(self, schema: Schema, *, is_open: bool) -> FieldType:
        scalar = _scalar_of(schema)
        if scalar is not None:
            return scalar
        node = FieldType()
        self._fill(node, schema, is_open=is_open)
        return node

    def _fill(self, node: FieldType, schema: Schema, *, is_open: bool) -> None:
        """Set the branches of a new node from a schema; ``is_open``: unknown fields are kept here and below."""
        is_open = is_open or schema.get("x-kubernetes-preserve-unknown-fields") is True
        if schema.get("x-kubernetes-embedded-resource"):
            schema = _with_object_fields(schema)
        kind = schema.get("type", "")
        if kind == "object":
            node.map = MapType(is_atomic=schema.get("x-kubernetes-map-type") == "atomic")
            self._fill_map(node.map, schema, is_open=is_open)
        elif kind == "array":
            node.list = self._list(schema, is_open=is_open)
        else:
            # A schema that is not a known scalar is free-form: its fields are owned as they occur.
            scalar = _scalar_of(schema) or DEDUCED
            node.scalar, node.list, node.map = scalar.scalar, scalar.list, scalar.map

    def _fill_map(self, result: MapType, schema: Schema, *, is_open: bool) -> None:
        properties = schema.get("properties") or {}
        for name, below in properties.items():
            result.declare(name, self._reference(below, is_open=is_open))
        additional = schema.get("additionalProperties")
        if additional is None:
            result.element = DEDUCED if is_open or not properties else None
        elif additional is True:
            result.element = DEDUCED
        elif additional is not False:
            result.element = self._reference(additional, is_open=is_open)

    def _list(self, schema: Schema, *, is_open: bool) -> ListType:
        items = schema.get("items")
        element = self._reference(items, is_open=is_open) if items is not None else DEDUCED
        is_atomic, keys = _relationship(schema)
        result = ListType(element, is_atomic=is_atomic, keys=keys)
        if keys and items is not None:
            properties = self._resolved(items).get("properties") or {}
            result.defaults = {key: properties[key].get("default") for key in keys if key in properties}
        return result

    def _resolved(self, schema: Schema) -> Schema:
        name = _reference_name(schema)
        return schema if name is None else self._definitions(name)

    def _reference(self, schema: Schema, *, is_open: bool) -> FieldType:
        name = _reference_name(schema)
        if name is None:
            return self._inline(schema, is_open=is_open)
        target = self.named(name)
        relationship = schema.get("x-kubernetes-map-type")
        if relationship is not None and target.map is not None and target.map.is_atomic != (relationship == "atomic"):
            # The field knows better than the type it refers to.
            own = MapType(is_atomic=relationship == "atomic", element=target.map.element)
            own.fields, own.names, own.elements = target.map.fields, target.map.names, target.map.elements
            return FieldType(map_=own)
        return target


def _reference_name(schema: Schema) -> str | None:
    everything = schema.get("allOf")
    if everything is not None and len(everything) == 1:
        schema = everything[0]
    reference: str | None = schema.get("$ref")
    return reference.removeprefix(_REF_PREFIX) if reference is not None else None


def _scalar_of(schema: Schema) -> FieldType | None:
    kind = schema.get("type")
    if kind == "string" and schema.get("format", "") not in _PLAIN_STRING_FORMATS:
        return _UNTYPED_SCALAR
    return _SCALARS.get(kind) if kind is not None else None


def _relationship(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    """Return whether a list is atomic, and else the keys that identify its items (none for a set)."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        return False, tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if kind is not None:
        return kind == "atomic", ()
    if "merge" in (schema.get("x-kubernetes-patch-strategy") or ""):
        key = schema.get("x-kubernetes-patch-merge-key")
        return False, (key,) if key else ()
    return True, ()


def _with_object_fields(schema: Schema) -> Schema:
    """Declare what every object has, however little its schema says."""
    declared = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": _REF_PREFIX + _META},
    }
    return {**schema, "type": "object", "properties": declared}
