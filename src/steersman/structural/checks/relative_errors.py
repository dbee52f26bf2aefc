"""`Finding`: a broken rule before it is known where in the object it was broken.

A check of a value knows nothing of its place; each level above adds its own step while the findings pass through. So a
value without faults costs no path at all.
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
    #: ``<detail with the place>``, beside no field: what the OpenAPI library says of whole values.
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


#: Checks a value: gives what is wrong with it, or nothing.
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
    """Take the findings of an inner value into those of the value that holds it."""
    for error in inner:
        error.steps.append(step)
    if found is None:
        return inner
    found.extend(inner)
    return found
