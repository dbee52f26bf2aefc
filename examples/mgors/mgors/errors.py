"""Errors of backups and restores."""

from steersman import SteersmanError


class DamagedError(SteersmanError):
    """A backup was changed, or restored data differs from the backup."""
