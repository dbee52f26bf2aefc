"""The operators of the examples, for plans: each with what its plan cannot know."""

from importlib import import_module, reload
from pathlib import Path
from typing import Any

import pytest

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.errors import AlreadyExists
from steersman.manager.operator import Operator
from steersman.protocol.http import App
from steersman.protocol.manifests import load_objects
from tools.examples import EXAMPLES, examples

#: Examples whose operators need a database driver, and the driver.
DRIVERS = {"mgors": "pymongo", "redisfailover": "redis"}
#: Examples whose samples refer to each other.
TOGETHER = frozenset({"kubewatch", "mgors"})
#: Calls to other systems that the plan of an example does not make.
CALLS = {"network": {("http://neutron:9696", "POST")}}
#: Fields whose values a plan cannot know, because another system draws them.
DRAWN = (".status.providerID",)


def sample_sets() -> list[Any]:
    """Return each sample of each example by itself, and those that refer to each other together, as parameters."""
    found = []
    for example in examples():
        files = sorted((EXAMPLES / example / "samples").glob("*.yaml"))
        found += [pytest.param(example, (file,), id=f"{example}-{file.stem}") for file in files]
        if example in TOGETHER:
            found.append(pytest.param(example, tuple(files), id=f"{example}-all"))
    return found


async def create_samples(client: Client, files: tuple[Path, ...]) -> None:
    """Create samples in the client's namespace; patch what a file for another version has created."""
    for sample in (one for file in files for one in load_objects(file.read_bytes(), source=file.name)):
        if sample.namespace:
            sample.content["metadata"]["namespace"] = client.namespace
        try:
            await client.create(sample)
        except AlreadyExists:
            await client.patch(sample, sample.content)


def operator_of(example: str) -> Operator:
    """Return the operator of an example; skip the test if it needs a driver that is not installed."""
    if example not in DRIVERS:
        module = import_module(f"{example}.main")
    else:
        pytest.importorskip(DRIVERS[example])
        # A new operator for each test: its background function belongs to one event loop.
        module = reload(import_module(f"{example}.main"))
    operator: Operator = module.operator
    return operator


def service_of(example: str, clock: Clock) -> dict[str, App]:
    """Return the other systems of an example by their URLs."""
    if example != "network":
        return {}
    return {import_module("network.provider").URL: import_module("network.neutron").Neutron(clock=clock)}
