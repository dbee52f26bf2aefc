"""Validation of file paths, and of volume sources that both pods and persistent volumes have."""

from collections.abc import Callable

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required


def descending_path_errors(text: str, field: str) -> Errors:
    """Validate a path that must stay below its starting point."""
    errors: Errors = [invalid(field, text, "must be a relative path")] if text.startswith("/") else []
    return errors + backstep_errors(text, field)


def backstep_errors(text: str, field: str) -> Errors:
    """Reject a path that contains ``..``."""
    return [invalid(field, text, "must not contain '..'")] if ".." in text.split("/") else []


def nfs_errors(source: JsonObject, path: str) -> Errors:
    """Validate an NFS volume source."""
    errors: Errors = [required(f"{path}.{name}") for name in ("server", "path") if not source.get(name)]
    if not (source.get("path") or "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path") or "", "must be an absolute path"))
    return errors


def requires(*names: str) -> Callable[[JsonObject, str], Errors]:
    """Return a validation that rejects an object without one of these fields."""

    def check(source: JsonObject, path: str) -> Errors:
        return [required(f"{path}.{name}") for name in names if not source.get(name)]

    return check
