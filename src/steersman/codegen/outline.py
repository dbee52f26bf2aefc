"""What a generated module will hold, before it is written down: annotations, fields, classes, modules."""

from dataclasses import dataclass, field
from typing import Literal

from steersman.objects.identity import ApiResource

#: A name to import: module and name.
Import = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Annotation:
    """The type of a field as Python text, and what that text refers to."""

    text: str
    imports: frozenset[Import] = frozenset()

    def within(self, form: str) -> "Annotation":
        """Return another type around this one: ``within("list[{}]")``."""
        return Annotation(form.format(self.text), self.imports)

    def or_none(self) -> "Annotation":
        """Return this type or ``None``."""
        return self if self.text == "Any" or self.text.endswith("| None") else self.within("{} | None")


#: How a field behaves when the author leaves it out: an error, not sent, read as empty, or sent as zero.
Presence = Literal["required", "optional", "absent", "zero"]


@dataclass(frozen=True, slots=True)
class FieldOutline:
    """One field of a class."""

    name: str
    wire: str
    annotation: Annotation
    presence: Presence
    description: str = ""


@dataclass(frozen=True, slots=True)
class ClassOutline:
    """One class: a kind when it has a resource, else a part of one."""

    name: str
    fields: tuple[FieldOutline, ...]
    resource: ApiResource | None = None
    description: str = ""


@dataclass(slots=True)
class ModuleOutline:
    """One module: the classes of a group-version."""

    name: str
    description: str
    classes: list[ClassOutline] = field(default_factory=list)
