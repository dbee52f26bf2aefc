"""Steps that sentinels take: a few commands each. One that ends in the middle is taken again by the next look."""

from typing import Any, assert_never

from redis.exceptions import ResponseError

from redisfailover.actions import Adjust, Failover, Fence, Monitor, Release, Reset, Tell
from redisfailover.connection import Connection
from redisfailover.names import MASTER
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.servers import Rejected, Terms, Unreachable
from redisfailover.settings import WRITE_QUORUM

#: Milliseconds for which a master that is to be replaced holds back writes.
_PAUSE = 10_000


def address_of(node: RedisNode | SentinelNode) -> Address:
    """Give where a server or sentinel listens; raises `Unreachable` if it does not."""
    if node.address is None:
        raise Unreachable(f"{node.pod} has no address")
    return node.address


async def tell(node: RedisNode | SentinelNode, terms: Terms, *words: Any) -> None:
    """Send a command to a server, with the password that it was reached with, or to a sentinel."""
    password = node.password if isinstance(node, RedisNode) else ""
    async with Connection.to(address_of(node), password, write=terms.write) as redis:
        await redis.execute_command(*words)


async def direct(action: Monitor | Release | Adjust | Reset | Failover | Tell, terms: Terms) -> None:
    """Take a step that a sentinel is to take."""
    match action:
        case Monitor() | Reset():
            await _monitor(action, terms)
        case Release(node):
            await tell(node, terms, "SENTINEL REMOVE", MASTER)
        case Tell(node):
            async with Connection.to(address_of(node), write=terms.write) as redis:
                await _authenticate(redis, terms)
        case Adjust(node, options):
            await _adjust(node, dict(options), terms)
        case Failover():
            await _fail_over(action, terms)
        case _:
            assert_never(action)


async def _adjust(node: SentinelNode, options: dict[str, str], terms: Terms) -> None:
    async with Connection.to(address_of(node), write=terms.write) as redis:
        for name, value in options.items():
            try:
                await redis.execute_command("SENTINEL SET", MASTER, name, value)
            except ResponseError as error:
                raise Rejected(f"{name} {value}: {error}") from error


async def _monitor(action: Monitor | Reset, terms: Terms) -> None:
    # ``SENTINEL RESET`` would do for one that is to forget, but it asks its master for the replicas every ten seconds
    # only, and knows none until then. A master that it is told of it asks at once.
    async with Connection.to(address_of(action.node), write=terms.write) as redis:
        if action.node.watches is not None:
            await redis.execute_command("SENTINEL REMOVE", MASTER)
        master = action.master
        await redis.execute_command("SENTINEL MONITOR", MASTER, master.host, master.port, action.quorum)
        if terms.password:
            await _authenticate(redis, terms)
    await _adjust(action.node, dict(terms.options), terms)


async def _authenticate(redis: Connection, terms: Terms) -> None:
    """Let a sentinel use the password. By name: a server without one accepts any then."""
    await redis.execute_command("SENTINEL SET", MASTER, "auth-user", "default" if terms.password else "")
    await redis.execute_command("SENTINEL SET", MASTER, "auth-pass", terms.password)


async def _fence(fence: Fence, terms: Terms) -> None:
    """Hold back writes; raises `Unreachable` if a replica does not have all that the master confirmed before."""
    master = fence.master
    async with Connection.to(address_of(master), master.password, write=terms.write) as redis:
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


async def _fail_over(action: Failover, terms: Terms) -> None:
    if action.fence is not None:
        await _fence(action.fence, terms)
    try:
        await tell(action.node, terms, "SENTINEL FAILOVER", MASTER)
    except ResponseError as error:
        if "NOGOODSLAVE" in str(error):
            await tell(action.otherwise, terms, "REPLICAOF", "NO", "ONE")
        elif "INPROG" not in str(error):
            raise
