"""What the operator may do, compared with what it does in a whole life of a replica set."""

import mongod_phases as phases
from mongod_world import StartWorld
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Storage
from mgors.main import operator


async def test_the_operator_has_the_rights_that_it_needs_and_no_others(start: StartWorld) -> None:
    """Too little breaks it, too much endangers the cluster: databases are where secrets lie."""
    async with start() as world:
        await world.create(1, storage=Storage(retain="Delete"))
        await world.until_ready(1)
        await world.until(lambda: "admin.admin" in world.users())
        await world.write(0, phases.BEFORE)
        await phases.it_is_backed_up(world)
        await phases.all_is_lost_and_restored(world)
        await phases.a_schedule_is_kept(world)
        [before] = [pod.uid for pod in world.cluster.list(Pod)]
        await world.patch({"image": "mongo:6.0.5", "storage": {"size": "20Gi"}})
        await world.until(lambda: [pod for pod in world.cluster.list(Pod) if pod.uid != before])
        await world.until_ready(1)
        await phases.it_ends(world)
        world.cluster.assert_rbac_minimal(operator)
