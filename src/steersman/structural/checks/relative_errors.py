"""`RelativeError`: a validation error whose path is still relative to the value that was checked.

A check does not know the position of its value; each level above adds its own step to the errors that pass through. So
a valid value costs no path.
"""

import enum
from collections.abc import Callable
from typing import Any

from steersman.validation.field_errors import NO_FIELD, ErrorType, FieldError


class MessageStyle(enum.Enum):
    """How the text of a finding speaks of its place; a NUL in it stands for the place, too."""

    #: ``spec.a in body <detail>``.
    IN_BODY = enum.auto()
    #: ``<detail>``, beside the field.
    BESIDE = enum.auto()
    #: ``<detail with the path>``, without a field: what the OpenAPI library reports about whole values.
    ANYWHERE = enum.auto()


class MapKey(str):
    """A step into a map by key where Kubernetes writes it in brackets."""

    __slots__ = ()


class RelativeError:
    """A broken rule, and the steps from the object to the value that breaks it, innermost first."""

    __slots__ = ("detail", "steps", "style", "type", "value")

    def __init__(self, type_: ErrorType, value: Any, detail: str, style: MessageStyle = MessageStyle.IN_BODY) -> None:
        self.type = type_
        self.value = value
        self.detail = detail
        self.style = style
        self.steps: list[str | int] = []

    @property
    def place(self) -> str:
        """The path of the value, from the object that was checked."""
        return path_text(reversed(self.steps))

    def error(self, base: str = "") -> FieldError:
        """Return the error, of an object that itself stands at ``base``."""
        place = self.place
        detail = self.detail.replace("\0", place)
        if self.style is MessageStyle.ANYWHERE:
            return FieldError(self.type, base or NO_FIELD, self.value, detail)
        where = f"{base}.{place}" if base and place else base or place
        if self.style is MessageStyle.IN_BODY:
            detail = f"{place} in body {detail}"
        return FieldError(self.type, where or NO_FIELD, self.value, detail)


#: Checks a value; returns its errors, or ``None``.
Check = Callable[[Any], list[RelativeError] | None]


def path_text(steps: Any) -> str:
    """Write steps as a path: ``spec.items[0].name``."""
    text = ""
    for step in steps:
        if step.__class__ is not str:
            text = f"{text}[{step}]"
            continue
        text = f"{text}.{step}" if text else step
    return text


def gather(found: list[RelativeError] | None, inner: list[RelativeError], step: str | int) -> list[RelativeError]:
    """Add the errors of an inner value, with the step that leads to it, to those of the outer value."""
    for error in inner:
        error.steps.append(step)
    if found is None:
        return inner
    found.extend(inner)
    return found
