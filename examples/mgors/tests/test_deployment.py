"""What the project says about how the operator is deployed."""

from pathlib import Path

from steersman.scaffold import settings_of, shape_from

from mgors.settings import Settings

PROJECT = Path(__file__).parents[1]


def test_backups_have_a_place() -> None:
    """The root file system of a pod cannot be written: where backups go by default, a claim is mounted."""
    shape = shape_from(settings_of(PROJECT), "mgors", version="1")
    volume = shape.volumes[str(Settings().backups)]
    assert volume.source == {"persistentVolumeClaim": {"claimName": "mgors-backups"}}
