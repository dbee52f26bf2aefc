"""`Model`: the base of every typed part of an object, and how its fields are named on the wire.

``None`` is never sent; every other value is sent, even where it equals the field's default; a field that the class does
not declare is ignored on reading. One exception is declared: a ``sparse`` collection is left out when empty.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar, cast, dataclass_transform

from msgspec import NODEFAULT, Struct, StructMeta, field

from steersman.errors import DeclarationError
from steersman.objects.fields import declared_fields

T = TypeVar("T")

__all__ = ["Model", "absent", "field", "sparse", "wire_name"]


def wire_name(python_name: str) -> str:
    """Return the camelCase name of a snake_case field; a trailing underscore (``from_``) only avoids a keyword."""
    head, *rest = python_name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


class _Sparse:
    """Marks a collection that is left out while it is empty; ``ModelMeta`` takes it away again."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


def sparse(factory: Callable[[], T]) -> T:
    """Declare a list or dict that is left out while it is empty.

    Write ``labels: dict[str, str] = sparse(dict)``.
    """
    return cast("T", _Sparse(factory))


def absent() -> Any:
    """Declare a field of a kind that becomes its type's empty value when it is absent, and is then left out."""
    return field(default=None)


_Field: type[Any] = type(cast("Any", field(default=None)))


def _constant(value: object) -> Callable[[], Any]:
    """Return a factory that msgspec does not recognise as a default, and so never leaves out."""
    if isinstance(value, (list, dict, set)):
        return lambda: deepcopy(value)
    return lambda: value


def _always_sent(default: object) -> object:
    """Turn a default into one that is sent like any other value; ``None`` is still left out."""
    if default is None:
        return None
    if isinstance(default, _Sparse):
        return field(default_factory=default.factory)
    name: str | None = None
    if isinstance(default, _Field):
        name = default.name
        if default.default_factory is not NODEFAULT:
            return field(default_factory=_hidden(default.default_factory), name=name)
        if default.default is NODEFAULT:
            return default
        default = default.default
    if default is None:
        return field(default=None, name=name)
    return field(default_factory=_constant(default), name=name)


def _hidden(factory: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap a factory, because msgspec leaves out the empty values of ``list``, ``dict`` and ``set`` themselves."""

    def make() -> object:
        return factory()

    return make


class ModelMeta(StructMeta):
    """Makes msgspec leave out exactly the fields that are ``None``, and what is ``sparse`` and empty."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: Any) -> Any:
        """Prepare the defaults of the fields before msgspec reads them; raise `DeclarationError` if one is missed."""
        # msgspec does not inherit this option; a part of an object is always made by the names of its fields.
        options.setdefault("kw_only", True)
        declared = declared_fields(namespace)
        for field_name in declared.intersection(namespace):
            namespace[field_name] = _always_sent(namespace[field_name])
        model = super().__new__(mcls, name, bases, namespace, **options)
        for field_name in model.__struct_fields__:
            if field_name in namespace and field_name not in declared:
                raise DeclarationError(
                    f"{model.__module__}.{model.__qualname__}.{field_name}: the field has a value but no annotation "
                    f"here; write `{field_name}: <type> = …`"
                )
        return model


@dataclass_transform(field_specifiers=(field,), kw_only_default=True)
class Model(Struct, metaclass=ModelMeta, omit_defaults=True, rename=wire_name):
    """A part of an object: a spec, a status, or anything inside them.

    Subclasses declare typed fields, in snake_case; on the wire they are camelCase.
    """
