"""Settings of the operator's deployment."""

from pathlib import Path

from steersman.scaffold import settings_of, shape_from

from mgors.settings import Settings

PROJECT = Path(__file__).parents[1]


def test_the_folder_of_backups_is_a_mounted_claim() -> None:
    """The root file system of the pod is read-only."""
    shape = shape_from(settings_of(PROJECT), "mgors", version="1")
    volume = shape.volumes[str(Settings().backups)]
    assert volume.source == {"persistentVolumeClaim": {"claimName": "mgors-backups"}}
