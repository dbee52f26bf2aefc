"""The operators of the examples, for plans: each with what its plan cannot know."""

from importlib import import_module, reload

import pytest

from steersman.clock import Clock
from steersman.manager.operator import Operator
from steersman.protocol.http import App

#: Examples whose operators need a database driver, and the driver.
DRIVERS = {"mgors": "pymongo", "redisfailover": "redis"}
#: Calls to other systems that the plan of an example does not make.
CALLS = {"network": {("http://neutron:9696", "POST")}}
#: Fields whose values a plan cannot know, because another system draws them.
DRAWN = (".status.providerID",)


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
