"""`ValidationResult`: what is thought of an object once everything about it was checked."""

from msgspec import Struct

from steersman.validation.field_errors import FieldError


class ValidationResult(Struct, frozen=True):
    """Errors refuse an object, warnings are told beside the answer: without errors it is good, whatever they say."""

    errors: list[FieldError]
    warnings: list[str]
