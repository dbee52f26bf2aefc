"""The types of objects and of validation results."""

from typing import Any

from steersman.validation.field_errors import FieldError

#: An object, or a part of one, as decoded JSON.
Document = dict[str, Any]
#: What a validation function returns: one entry per rejected field.
Errors = list[FieldError]
