"""Validation of file paths."""

from steersman.apiserver.builtin.common.documents import Errors
from steersman.validation.field_errors import invalid


def descending_path_errors(text: str, field: str) -> Errors:
    """Validate a path that must stay below its starting point."""
    errors: Errors = [invalid(field, text, "must be a relative path")] if text.startswith("/") else []
    return errors + backstep_errors(text, field)


def backstep_errors(text: str, field: str) -> Errors:
    """Reject a path that contains ``..``."""
    return [invalid(field, text, "must not contain '..'")] if ".." in text.split("/") else []
