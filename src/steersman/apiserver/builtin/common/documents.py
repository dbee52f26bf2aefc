"""The types of objects and of validation results."""

from steersman.validation.field_errors import FieldError

#: What a validation function returns: one entry per rejected field.
Errors = list[FieldError]
