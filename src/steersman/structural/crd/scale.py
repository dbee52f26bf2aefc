"""The `/scale` subresource of a custom kind: where its numbers stand, and which numbers are good."""

from dataclasses import dataclass
from typing import Any, Final, Self

from steersman.golang.text import plain, type_name
from steersman.json_types import JsonObject
from steersman.validation.field_errors import FieldError, invalid

_INT32_MAX: Final = 2**31 - 1


class _AccessError(Exception):
    """A path leads through a value of a wrong type; the text is Kubernetes'."""


def _read(obj: object, path: str, wanted: type) -> Any:
    """Return the value at a path; `None` if there is none."""
    steps = path.removeprefix(".").split(".")
    value, walked = obj, ""
    for step in steps:
        if value is None:
            return None
        if value.__class__ is not dict:
            raise _AccessError(
                f"{walked}.{step} accessor error: {plain(value)} is of the type {type_name(value)}, "
                "expected map[string]interface{}"
            )
        if step not in value:
            return None
        value, walked = value[step], f"{walked}.{step}"
    if value.__class__ is not wanted:
        raise _AccessError(
            f"{walked} accessor error: {plain(value)} is of the type {type_name(value)}, expected {type_name(wanted())}"
        )
    return value


def _count_errors(obj: object, path: str) -> list[FieldError]:
    try:
        count = _read(obj, path, int) or 0
    except _AccessError as error:
        return [invalid(path, 0, str(error))]
    if count < 0:
        return [invalid(path, count, "should be a non-negative integer")]
    if count > _INT32_MAX:
        return [invalid(path, count, f"should be less than or equal to {_INT32_MAX}")]
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where the replicas of a kind are wished, counted and selected."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""

    @classmethod
    def of(cls, scale: JsonObject) -> Self:
        """Read `subresources.scale` of a version."""
        return cls(
            spec_replicas=scale["specReplicasPath"],
            status_replicas=scale["statusReplicasPath"],
            label_selector=scale.get("labelSelectorPath") or "",
        )

    def spec_errors(self, obj: JsonObject) -> list[FieldError]:
        """Check the wished number of replicas."""
        return _count_errors(obj, self.spec_replicas)

    def status_errors(self, obj: JsonObject) -> list[FieldError]:
        """Check the counted number of replicas, and that the selector is a text."""
        errors = _count_errors(obj, self.status_replicas)
        if self.label_selector:
            try:
                _read(obj, self.label_selector, str)
            except _AccessError as error:
                errors.append(invalid(self.label_selector, "", str(error)))
        return errors
