"""Families of owners and dependents, on the embedded server and on a real one with its controllers.

``python -m tools.control_plane run --controllers -- pytest tests/contract -k garbage``
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.kinds.core_v1 import ConfigMap, Namespace
from steersman.objects.meta import OwnerReference, meta
from steersman.protocol.options import DeleteOptions
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from tests.support.families import Family, survivors

REAL = bool(os.environ.get("STEERSMAN_CONTRACT_CONTROLLERS"))
_needs_real = pytest.mark.skipif(not REAL, reason="no STEERSMAN_CONTRACT_CONTROLLERS")
POLICIES = ("Background", "Foreground", "Orphan")
#: A state that is as expected this many times, this many seconds apart, is final.
_LOOKS = 3
_PAUSE = {"embedded": 0.0, "real": 0.2}
#: Attempts after which a state that is not as expected counts as final.
_PATIENCE = 200


def family(seed: int) -> Family:
    """Generate a family."""
    randomness = Randomness(seed)

    def pick(count: int) -> int:
        return min(int(randomness.between(0, count)), count - 1)

    count = 2 + pick(6)
    owners = tuple(frozenset(pick(index) for _ in range(pick(4))) if index else frozenset() for index in range(count))
    pairs = [(index, owner) for index in range(count) for owner in sorted(owners[index])]
    blocking = frozenset(pair for pair in pairs if pick(2))
    deletes = tuple((pick(count), POLICIES[pick(3)]) for _ in range(1 + pick(3)))
    return Family(owners, blocking, deletes)


@asynccontextmanager
async def connected(where: str) -> AsyncIterator[Client]:
    """Yield a client of a server with controllers, in a fresh namespace."""
    clock = RealClock()
    transport: Transport = (
        HttpTransport(ClusterConfig.from_kubeconfig(os.environ["KUBECONFIG"]), clock=clock)
        if where == "real"
        else InMemoryTransport(ApiServer(clock=clock, controllers=ControllerOptions()), clock=clock)
    )
    client = Client(transport, namespace=f"garbage-{Randomness().suffix(8)}", field_manager="contract")
    try:
        await client.create(Namespace(meta(client.namespace)))
        yield client
        await client.delete(Ref(Namespace, client.namespace))
    finally:
        await transport.close()


async def left(client: Client) -> dict[int, frozenset[int]]:
    """Return the existing objects of the family, with their owners."""
    found = {}
    async for item in client.list(ConfigMap):
        if item.name.startswith("c"):
            owners = item.metadata.owner_references or ()
            found[int(item.name[1:])] = frozenset(int(owner.name[1:]) for owner in owners)
    return found


async def settled(client: Client, where: str, wanted: dict[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Return the final objects: the expected ones once they stay, else those after a long time."""
    right = 0
    for _ in range(_PATIENCE):
        found = await left(client)
        right = right + 1 if found == wanted else 0
        if right == _LOOKS:
            break
        await RealClock().sleep(_PAUSE[where])
    return found


@pytest.mark.parametrize("where", ["embedded", pytest.param("real", marks=_needs_real)])
@pytest.mark.parametrize("seed", range(8))
async def test_garbage_is_collected_as_by_real_controllers(where: str, seed: int) -> None:
    """The rule that says which objects remain is only useful if real controllers follow it, too."""
    wanted = family(seed)
    async with connected(where) as client:
        uids: dict[int, str] = {}
        for index, owners in enumerate(wanted.owners):
            references = [
                OwnerReference(
                    api_version="v1",
                    kind="ConfigMap",
                    name=f"c{owner}",
                    uid=uids[owner],
                    block_owner_deletion=(index, owner) in wanted.blocking,
                )
                for owner in sorted(owners)
            ]
            created = await client.create(ConfigMap(meta(f"c{index}", owner_references=references)))
            uids[index] = created.metadata.uid or ""
        for count, (target, policy) in enumerate(wanted.deletes, 1):
            options = DeleteOptions(propagation_policy=policy)
            await client.delete(Ref(ConfigMap, f"c{target}"), options=options, missing_ok=True)
            expected = survivors(replace(wanted, deletes=wanted.deletes[:count]))
            assert await settled(client, where, expected) == expected
