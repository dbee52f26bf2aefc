"""Connections to members leave nothing behind when the operator stops."""

import asyncio

from mongod_testbed import StartTestbed


async def test_a_cancellation_while_a_connection_closes_leaves_no_tasks(start: StartTestbed) -> None:
    """An operator may stop at any moment; the tasks of the driver must end with it."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        [host] = [one.host for one in testbed.mgors.status.replica_set]
        connector = testbed.connector()
        asked = asyncio.Event()

        async def ask() -> None:
            async with connector.member(host) as member:
                await member.mongo.admin.command("ping")
                asked.set()  # from here on the connection closes

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(ask(), name="ask")
            await asked.wait()
            task.cancel()
        assert task.cancelled()
