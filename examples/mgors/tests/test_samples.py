"""The samples, as the API server sees them."""

from pathlib import Path

from steersman.protocol import load_objects
from steersman.testing import Cluster

from mgors.api.mgors_backup_v1 import MgorsBackup
from mgors.api.mgors_restore_v1 import MgorsRestore
from mgors.api.mgors_v1 import Mgors

SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("*.yaml"))


async def test_every_sample_is_accepted(cluster: Cluster) -> None:
    """A sample is the first thing that a user tries."""
    await cluster.install(Mgors, MgorsBackup, MgorsRestore)
    for sample in SAMPLES:
        for obj in load_objects(sample.read_bytes(), source=sample.name):
            await cluster.client.create(obj)
