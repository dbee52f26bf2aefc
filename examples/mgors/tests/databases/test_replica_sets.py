"""Replica sets of real mongod processes: they begin, grow, shrink, rest and end."""

from steersman import meta
from steersman.kinds.core_v1 import Secret

from mgors.api.mgors_v1 import Role, SecretRef, User


async def test_three_members_from_nothing(start) -> None:
    """The first thing that anybody asks for."""
    async with start() as world:
        await world.create()
        await world.until_ready()
        await world.write(0, 100)
        assert await world.count() == 100
        assert world.events.count("MemberAdded") == 2
