"""The samples, as the API server sees them."""

from pathlib import Path

from steersman.protocol import load_objects
from steersman.testing import Cluster

from samplecontroller.main import operator

SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("*.yaml"))


async def test_every_sample_is_accepted(cluster: Cluster) -> None:
    """A sample is the first thing that a user tries."""
    await cluster.install(*operator.kinds)
    for sample in SAMPLES:
        for obj in load_objects(sample.read_bytes(), source=sample.name):
            await cluster.client.create(obj)
