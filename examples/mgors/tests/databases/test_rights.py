"""What the operator may do, compared with what it does in a whole life of a replica set."""

import mongod_phases as phases
from mongod_testbed import StartTestbed
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Storage
from mgors.main import operator


async def test_the_operator_has_the_rights_that_it_needs_and_no_others(start: StartTestbed) -> None:
    """Too little breaks it, too much endangers the cluster: databases are where secrets lie."""
    async with start() as testbed:
        await testbed.create(1, storage=Storage(retain="Delete"))
        await testbed.until_ready(1)
        await testbed.until(lambda: "admin.admin" in testbed.users())
        await testbed.write(0, phases.BEFORE)
        await phases.it_is_backed_up(testbed)
        await phases.all_is_lost_and_restored(testbed)
        await phases.a_schedule_is_kept(testbed)
        [before] = [pod.uid for pod in testbed.cluster.list(Pod)]
        await testbed.patch({"image": "mongo:6.0.5", "storage": {"size": "20Gi"}})
        await testbed.until(lambda: [pod for pod in testbed.cluster.list(Pod) if pod.uid != before])
        await testbed.until_ready(1)
        await phases.it_ends(testbed)
        testbed.cluster.assert_rbac_minimal(operator)
