"""Every sample of every example is accepted by the API server."""

from importlib import import_module

import pytest

from steersman.testing import Cluster, apply_samples
from tools.examples import EXAMPLES, examples


@pytest.mark.parametrize("example", examples())
async def test_every_sample_is_accepted(cluster: Cluster, example: str) -> None:
    """A sample is the first object that a user creates, with kubectl, which is strict."""
    await cluster.install(*import_module(f"{example}.main").operator.kinds)
    assert await apply_samples(cluster, EXAMPLES / example / "samples")
