"""Validation of paths inside volumes and hosts."""

from steersman.apiserver.builtin.common.documents import Errors
from steersman.validation.field_errors import invalid


def descending_path_errors(text: str, field: str) -> Errors:
    """Complain about a path that leads out of where it starts."""
    errors: Errors = [invalid(field, text, "must be a relative path")] if text.startswith("/") else []
    return errors + backstep_errors(text, field)


def backstep_errors(text: str, field: str) -> Errors:
    """Complain about a path that goes back."""
    return [invalid(field, text, "must not contain '..'")] if ".." in text.split("/") else []
