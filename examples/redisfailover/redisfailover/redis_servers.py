"""Real Redis servers and sentinels, by redis-py: a connection for each look and each step, and never a long wait."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from redisfailover.actions import Action, Adjust, Configure, Failover, Follow, Monitor, Promote, Release, Replace, Reset
from redisfailover.decision import REFUSED
from redisfailover.names import MASTER
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.rdb_stream import receive_snapshot
from redisfailover.replies import node_from_info, sentinel_from_master
from redisfailover.servers import Rejected, Snapshot, Terms, Unreachable

#: Seconds to wait for a connection, and for an answer.
_TIMEOUT = 1.0
#: Milliseconds for which a master that is to be replaced holds back writes.
_PAUSE = 10_000


class RedisServers:
    """Speaks with servers and sentinels."""

    def __init__(self) -> None:
        """Know nothing yet."""
        #: How Redis writes a value that it was given: ``100mb`` becomes ``104857600``. Found out again when lost.
        self._written: dict[tuple[str, str], str] = {}

    async def look_at(self, node: RedisNode, terms: Terms) -> RedisNode:
        """Complete what is known of a server by what it says of itself."""
        if node.address is None:
            return node
        try:
            async with _connected(node.address, terms.password) as redis:
                info = await redis.info()
                drift = await self._drift(redis, terms)
        except AuthenticationError as error:
            return replace(node, problem=f"{REFUSED}: {error}")
        except (RedisError, OSError) as error:
            return replace(node, problem=node.problem or f"does not answer at {node.address}: {error}")
        return node_from_info(replace(node, problem=""), info, drift)

    async def look_at_sentinel(self, node: SentinelNode, terms: Terms) -> SentinelNode:
        """Complete what is known of a sentinel by what it says of its master."""
        if node.address is None:
            return node
        try:
            async with _connected(node.address) as redis:
                try:
                    master = await redis.sentinel_master(MASTER)
                except ResponseError:
                    return replace(node, answers=True)  # it knows of no master
        except (RedisError, OSError):
            return node
        return sentinel_from_master(node, master, terms.options)

    async def act(self, action: Action, terms: Terms) -> None:
        """Take a step; raises `Rejected` or `Unreachable`."""
        try:
            await self._act(action, terms)
        except (RedisError, OSError) as error:
            raise Unreachable(f"{action.node.pod}: {error}") from error

    async def save(self, source: Address, target: Path, terms: Terms) -> Snapshot:
        """Write the data of a server to a file, which is there as a whole or not at all; raises `Unreachable`."""
        partial = target.with_suffix(".partial")
        digest, size = hashlib.sha256(), 0
        try:
            with partial.open("wb") as file:
                async for piece in receive_snapshot(source, terms.password):
                    size += file.write(piece)
                    digest.update(piece)
        except (OSError, EOFError, ValueError) as error:
            partial.unlink(missing_ok=True)
            raise Unreachable(f"no backup of {source}: {error}") from error
        partial.replace(target)
        return Snapshot(digest.hexdigest(), size)

    async def _act(self, action: Action, terms: Terms) -> None:
        match action:
            case Promote(node):
                await _tell(node, terms.password, "REPLICAOF", "NO", "ONE")
            case Follow(node, master):
                await _tell(node, terms.password, "REPLICAOF", master.host, master.port)
            case Configure(node, settings):
                await self._configure(node, dict(settings), terms)
            case Monitor() | Release() | Adjust() | Reset() | Failover():
                await _direct(action, terms)
            case Replace(node):
                raise TypeError(f"{node.pod} is a pod: replacing it is no matter of Redis")
            case _:
                assert_never(action)

    async def _drift(self, redis: Redis, terms: Terms) -> dict[str, str]:
        if not terms.settings:
            return {}
        have: dict[str, str] = await redis.config_get(*terms.settings)
        # A setting that Redis does not know is found out by setting it.
        return {
            name: value
            for name, value in terms.settings.items()
            if have.get(name) not in (value, self._written.get((name, value), value))
        }

    async def _configure(self, node: RedisNode, settings: dict[str, str], terms: Terms) -> None:
        async with _connected(_address(node), terms.password) as redis:
            for name, value in settings.items():
                try:
                    await redis.config_set(name, value)
                except ResponseError as error:
                    raise Rejected(f"{name} {value}: {error}") from error
                written: dict[str, str] = await redis.config_get(name)
                self._written[name, value] = written.get(name, value)


@asynccontextmanager
async def _connected(address: Address, password: str = "") -> AsyncIterator[Redis]:
    """Give a connection that gives up soon and never tries again: whoever asked looks again anyway."""
    redis = Redis(
        host=address.host,
        port=address.port,
        password=password or None,
        socket_timeout=_TIMEOUT,
        socket_connect_timeout=_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
        protocol=2,
    )
    try:
        yield redis
    finally:
        await redis.aclose()


def _address(node: RedisNode | SentinelNode) -> Address:
    if node.address is None:
        raise Unreachable(f"{node.pod} has no address")
    return node.address


async def _tell(node: RedisNode | SentinelNode, password: str, *words: Any) -> None:
    async with _connected(_address(node), password) as redis:
        await redis.execute_command(*words)


async def _direct(action: Monitor | Release | Adjust | Reset | Failover, terms: Terms) -> None:
    """Take a step that a sentinel is to take."""
    match action:
        case Monitor():
            await _monitor(action, terms)
        case Release(node):
            await _tell(node, "", "SENTINEL REMOVE", MASTER)
        case Adjust(node, options):
            await _adjust(node, dict(options))
        case Reset(node):
            await _tell(node, "", "SENTINEL RESET", MASTER)
        case Failover():
            await _fail_over(action, terms)
        case _:
            assert_never(action)


async def _adjust(node: SentinelNode, options: dict[str, str]) -> None:
    async with _connected(_address(node)) as redis:
        for name, value in options.items():
            try:
                await redis.execute_command("SENTINEL SET", MASTER, name, value)
            except ResponseError as error:
                raise Rejected(f"{name} {value}: {error}") from error


async def _monitor(action: Monitor, terms: Terms) -> None:
    async with _connected(_address(action.node)) as redis:
        if action.node.watches is not None:
            await redis.execute_command("SENTINEL REMOVE", MASTER)
        master = action.master
        await redis.execute_command("SENTINEL MONITOR", MASTER, master.host, master.port, action.quorum)
        if terms.password:
            await redis.execute_command("SENTINEL SET", MASTER, "auth-pass", terms.password)
    await _adjust(action.node, dict(terms.options))


async def _fail_over(action: Failover, terms: Terms) -> None:
    if action.paused is not None:
        await _tell(action.paused, terms.password, "CLIENT PAUSE", _PAUSE, "WRITE")
    try:
        await _tell(action.node, "", "SENTINEL FAILOVER", MASTER)
    except ResponseError as error:
        if "NOGOODSLAVE" in str(error):
            await _tell(action.otherwise, terms.password, "REPLICAOF", "NO", "ONE")
        elif "INPROG" not in str(error):
            raise
