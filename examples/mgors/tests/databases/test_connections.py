"""Connections to members: what they leave behind when the operator goes."""

import asyncio

from mongod_testbed import StartTestbed

from mgors.connections import Connector


async def test_who_is_cancelled_while_a_connection_closes_leaves_nothing_behind(start: StartTestbed) -> None:
    """An operator that ends does so at any moment; the tasks of the driver must end with it."""
    async with start() as testbed:
        await testbed.create(1)
        await testbed.until_ready(1)
        [host] = [one.host for one in testbed.mgors.status.replica_set]
        connector = Connector(testbed.secret("shop-keyfile")["keyfile"])
        asked = asyncio.Event()

        async def ask() -> None:
            async with connector.member(host) as member:
                await member.mongo.admin.command("ping")
                asked.set()  # from here on it closes

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(ask(), name="ask")
            await asked.wait()
            task.cancel()
        assert task.cancelled()
