"""`@converts` and `renames`: how objects of one version of a kind become objects of another.

A conversion is declared beside the classes and stored with them. `schema.versions` combines several of them into a path
between any two versions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from steersman.errors import ConversionError, DeclarationError, DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.objects.codec import from_json, to_json
from steersman.objects.resource import Resource
from steersman.schema.declaration import declaration_of, names_of, place_of
from steersman.schema.object_paths import ObjectPath, object_path, put_at, take_at

S = TypeVar("S", bound=Resource[Any, Any])
T = TypeVar("T", bound=Resource[Any, Any])
CustomClass = type[Resource[Any, Any]]

_HOME = "__conversions__"


@dataclass(frozen=True, slots=True)
class Conversion:
    """One way from a version to another."""

    #: Creates a document of another version; the given one may be modified.
    change: Callable[[JsonObject], JsonObject]
    #: Fields of the source that the target has no place for: an annotation keeps them.
    keeps: tuple[ObjectPath, ...]
    #: Name of the conversion, for messages.
    name: str


def converts(
    source: type[S], target: type[T], *, keeps: Sequence[str] = ()
) -> Callable[[Callable[[S], T]], Callable[[S], T]]:
    """Return a decorator for a function that creates an object of one version from an object of another.

    Of the metadata, the function can change only labels and annotations; the rest is copied. ``keeps`` names fields
    that the target does not have, such as ``.spec.color``: an annotation keeps them, and they are restored when the
    object is converted back.
    """

    def decorate(function: Callable[[S], T]) -> Callable[[S], T]:
        name = f"{function.__module__}.{function.__qualname__}"

        def change(document: JsonObject) -> JsonObject:
            try:
                made = function(from_json(source, document))
            except DecodeError as error:
                raise ConversionError(str(error)) from None
            except ConversionError:
                raise
            except Exception as error:
                raise ConversionError(f"{name} raised {type(error).__name__}: {error}") from error
            if type(made) is not target:
                wrong, wanted = names_of(type(made), target)
                raise ConversionError(f"{name} returned {wrong}, not {wanted}")
            return to_json(made)

        _declare(source, target, Conversion(change, _paths(keeps), name))
        return function

    return decorate


def renames(source: CustomClass, target: CustomClass, fields: Mapping[str, str], *, keeps: Sequence[str] = ()) -> None:
    """Declare that two versions differ only in the names of fields: ``{".spec.replicas": ".spec.copies"}``.

    This covers both directions. ``keeps`` names fields that one of the versions does not have.
    """
    moves = [(object_path(old), object_path(new)) for old, new in fields.items()]
    kept = _paths(keeps)
    one, other = names_of(source, target)
    there = f"renames({one}, {other})"
    _declare(source, target, Conversion(_moving(moves), kept, there))
    _declare(target, source, Conversion(_moving([(new, old) for old, new in moves]), kept, there))


def _moving(moves: Sequence[tuple[ObjectPath, ObjectPath]]) -> Callable[[JsonObject], JsonObject]:
    def change(document: JsonObject) -> JsonObject:
        # All are taken before one is put: names may be exchanged.
        taken = [(new, take_at(document, old)) for old, new in moves]
        for path, value in taken:
            if value is not ABSENT and not put_at(document, path, value):
                raise ConversionError(f".{'.'.join(path)} has no place: something else stands there")
        return document

    return change


def conversion_between(source: CustomClass, target: CustomClass) -> Conversion | None:
    """Return the declared direct conversion from one version to another."""
    return _declared(source).get(_version(target))


def has_conversions(kinds: Sequence[CustomClass]) -> bool:
    """Return whether versions of a kind are converted by functions, so that the CRD needs a conversion webhook."""
    return any(conversion_between(one, other) for one in kinds for other in kinds)


def _declared(kind: CustomClass) -> dict[str, Conversion]:
    # Stored in an attribute of the class; a table here would keep the class alive.
    known: dict[str, Conversion] | None = kind.__dict__.get(_HOME)
    if known is None:
        known = {}
        type.__setattr__(kind, _HOME, known)
    return known


def _version(kind: CustomClass) -> str:
    return declaration_of(kind).resource.gvk.version


def _declare(source: CustomClass, target: CustomClass, conversion: Conversion) -> None:
    one, other = declaration_of(source).resource.gvk, declaration_of(target).resource.gvk
    if (one.group, one.kind) != (other.group, other.kind) or one.version == other.version:
        raise DeclarationError(f"{place_of(source)} and {place_of(target)} are not two versions of one kind")
    known = _declared(source).get(other.version)
    if known is not None and known.name != conversion.name:
        raise DeclarationError(
            f"two conversions from {one.version} to {other.version} of {one.kind}: {known.name} and {conversion.name}"
        )
    _declared(source)[other.version] = conversion


def _paths(texts: Sequence[str]) -> tuple[ObjectPath, ...]:
    return tuple(object_path(text) for text in texts)
