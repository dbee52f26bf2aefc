"""Whether objects survive the way to another version and back, found out with made-up objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steersman.errors import ConversionError, DeclarationError
from steersman.json_types import JsonObject
from steersman.schema.declaration import names_of
from steersman.schema.field_loss import lost_fields
from steersman.schema.generated_objects import generated
from steersman.schema.versions import Version, Versions


@dataclass(frozen=True, slots=True)
class Loss:
    """Fields that are lost in a conversion to another version and back, or an object that cannot be converted."""

    source: Version
    target: Version
    #: Fields that were lost; empty if the conversion itself failed.
    fields: tuple[str, ...]
    #: Why the way failed.
    reason: str = ""

    def __str__(self) -> str:
        way = f"{self.source.gvk.version} → {self.target.gvk.version} → {self.source.gvk.version}"
        if not self.fields:
            return f"{way}: {self.reason}"
        one, other = names_of(self.source.kind, self.target.kind)
        listed = ", ".join(f'"{name}"' for name in self.fields)
        return (
            f"{way}: {', '.join(self.fields)} of {one} is lost: let the conversion carry it, or keep it in an "
            f"annotation: @converts({one}, {other}, keeps=[{listed}]), or renames(…, keeps=[{listed}])"
        )


def losses(versions: Versions, *, count: int, seed: int = 0, examples: Iterable[JsonObject] = ()) -> Iterator[Loss]:
    """Try every pair of versions with examples and generated objects; yield the first loss of each pair."""
    given = list(examples)
    for source in versions.all:
        gvk = source.gvk
        own = [example for example in given if example.get("apiVersion") == gvk.api_version]
        objects = own + list(generated(source.schema, gvk.api_version, gvk.kind, count=count, seed=seed))
        if not objects:
            raise DeclarationError(
                f"{gvk}: no valid object can be generated from its schema: pass an example of it to assert_round_trips"
            )
        for target in versions.all:
            if target is not source and (loss := _first_loss(versions, source, target, objects)) is not None:
                yield loss


def check_round_trips(versions: Versions, *, count: int = 12) -> None:
    """Reject versions between which something gets lost; the error names the fields."""
    found = [str(loss) for loss in losses(versions, count=count)]
    if found:
        raise DeclarationError(f"versions of {versions.name} lose something:\n  " + "\n  ".join(found))


def _first_loss(versions: Versions, source: Version, target: Version, objects: list[JsonObject]) -> Loss | None:
    for document in objects:
        try:
            there = versions.carry(document, target.gvk.api_version)
            back = versions.carry(there, source.gvk.api_version)
        except ConversionError as error:
            return Loss(source, target, (), str(error))
        if lost := lost_fields(document, back, source.kind):
            return Loss(source, target, tuple(lost))
    return None
