"""Permissions of the operator, compared with its requests over the whole life of a replica set."""

import mongod_phases as phases
from mongod_testbed import StartTestbed
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_archive_v1 import MgorsArchive
from mgors.api.mgors_v1 import BackupPlan, PointInTime, Storage
from mgors.main import operator


async def test_the_operator_has_exactly_the_permissions_that_it_needs(start: StartTestbed) -> None:
    """Too few break it, too many endanger the cluster: databases hold secrets."""
    async with start() as testbed:
        plan = BackupPlan(point_in_time=PointInTime(every_seconds=1))
        await testbed.create(1, storage=Storage(retain="Delete"), backup=plan)
        await testbed.until_ready(1)
        await testbed.until(lambda: "admin.admin" in testbed.users())
        await testbed.write(0, phases.BEFORE)
        await testbed.until(lambda: any(one.status.until for one in testbed.cluster.list(MgorsArchive)))
        await phases.back_up(testbed)
        await phases.lose_all_disks_and_restore(testbed)
        await phases.follow_schedule(testbed)
        [before] = [pod.uid for pod in testbed.cluster.list(Pod)]
        await testbed.patch({"image": "mongo:6.0.5", "storage": {"size": "20Gi"}})
        await testbed.until(lambda: [pod for pod in testbed.cluster.list(Pod) if pod.uid != before])
        await testbed.until_ready(1)
        await phases.delete_set(testbed)
        testbed.cluster.assert_rbac_minimal(operator)
