"""Every sample of every example is accepted by the API server."""

import inspect
import pkgutil
from importlib import import_module

import pytest

from steersman.objects import KubeObject
from steersman.testing import Cluster, apply_samples
from tools.examples import EXAMPLES, examples


def kinds_of(example: str) -> list[type[KubeObject]]:
    """Return the kinds that an example declares; its operator may need a library that is not installed here."""
    package = import_module(f"{example}.api")
    modules = [import_module(f"{example}.api.{one.name}") for one in pkgutil.iter_modules(package.__path__)]
    return [
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and "__resource__" in vars(kind)
    ]


@pytest.mark.parametrize("example", examples())
async def test_every_sample_is_accepted(cluster: Cluster, example: str) -> None:
    """A sample is the first object that a user creates, with kubectl, which is strict."""
    await cluster.install(*kinds_of(example))
    assert await apply_samples(cluster, EXAMPLES / example / "samples")
