"""Actions on sentinels, a few commands each. The next reconcile repeats an action that was interrupted."""

from typing import Any, assert_never

from redis.exceptions import ResponseError

from redisfailover.actions import (
    Failover,
    Fence,
    Monitor,
    Reset,
    SetSentinelOptions,
    SetSentinelPassword,
    StopMonitoring,
)
from redisfailover.connection import Connection
from redisfailover.names import MASTER
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.servers import Rejected, ServerAccess, Unreachable
from redisfailover.settings import WRITE_QUORUM

#: Milliseconds for which a master to be replaced delays writes.
_PAUSE = 10_000


def address_of(node: RedisNode | SentinelNode) -> Address:
    """Return the address of a server or sentinel; raise `Unreachable` if it has none."""
    if node.address is None:
        raise Unreachable(f"{node.pod} has no address")
    return node.address


async def send_command(node: RedisNode | SentinelNode, access: ServerAccess, *words: Any) -> None:
    """Send a command to a server, with the password that reached it, or to a sentinel."""
    password = node.password if isinstance(node, RedisNode) else ""
    async with Connection.to(address_of(node), password, write=access.write) as redis:
        await redis.execute_command(*words)


async def run_sentinel_action(
    action: Monitor | StopMonitoring | SetSentinelOptions | Reset | Failover | SetSentinelPassword, access: ServerAccess
) -> None:
    """Execute an action on a sentinel."""
    match action:
        case Monitor() | Reset():
            await _monitor(action, access)
        case StopMonitoring(node):
            await send_command(node, access, "SENTINEL REMOVE", MASTER)
        case SetSentinelPassword(node):
            async with Connection.to(address_of(node), write=access.write) as redis:
                await _authenticate(redis, access)
        case SetSentinelOptions(node, options):
            await _adjust(node, dict(options), access)
        case Failover():
            await _fail_over(action, access)
        case _:
            assert_never(action)


async def _adjust(node: SentinelNode, options: dict[str, str], access: ServerAccess) -> None:
    async with Connection.to(address_of(node), write=access.write) as redis:
        for name, value in options.items():
            try:
                await redis.execute_command("SENTINEL SET", MASTER, name, value)
            except ResponseError as error:
                raise Rejected(f"{name} {value}: {error}") from error


async def _monitor(action: Monitor | Reset, access: ServerAccess) -> None:
    # Not ``SENTINEL RESET``: after it the sentinel knows no replicas until it next asks its master, up to ten seconds
    # later. After ``SENTINEL MONITOR`` it asks at once.
    async with Connection.to(address_of(action.node), write=access.write) as redis:
        if action.node.watches is not None:
            await redis.execute_command("SENTINEL REMOVE", MASTER)
        master = action.master
        await redis.execute_command("SENTINEL MONITOR", MASTER, master.host, master.port, action.quorum)
        if access.password:
            await _authenticate(redis, access)
    await _adjust(action.node, dict(access.options), access)


async def _authenticate(redis: Connection, access: ServerAccess) -> None:
    """Set the password of a sentinel, with a user name: a server without a password then accepts any."""
    await redis.execute_command("SENTINEL SET", MASTER, "auth-user", "default" if access.password else "")
    await redis.execute_command("SENTINEL SET", MASTER, "auth-pass", access.password)


async def _fence(fence: Fence, access: ServerAccess) -> None:
    """Pause writes; raise `Unreachable` if a replica lacks writes that the master acknowledged before."""
    master = fence.master
    async with Connection.to(address_of(master), master.password, write=access.write) as redis:
        await redis.config_set(WRITE_QUORUM, fence.write_quorum)
        await redis.execute_command("CLIENT PAUSE", _PAUSE, "WRITE")
        confirmed = int((await redis.info("replication"))["master_repl_offset"])
    for replica in fence.replicas:
        async with Connection.to(address_of(replica), replica.password) as redis:
            reached = int((await redis.info("replication")).get("slave_repl_offset", 0))
        if reached < confirmed:
            raise Unreachable(
                f"{replica.pod} has the data up to {reached} of {confirmed}: {master.pod} hands over later"
            )


async def _fail_over(action: Failover, access: ServerAccess) -> None:
    if action.fence is not None:
        await _fence(action.fence, access)
    try:
        await send_command(action.node, access, "SENTINEL FAILOVER", MASTER)
    except ResponseError as error:
        if "NOGOODSLAVE" in str(error):
            await send_command(action.otherwise, access, "REPLICAOF", "NO", "ONE")
        elif "INPROG" not in str(error):
            raise
