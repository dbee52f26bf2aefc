"""Real Redis servers and sentinels, by redis-py: a connection for each look and each step, and never a long wait."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from redis.exceptions import (
    AuthenticationError,
    AuthenticationWrongNumberOfArgsError,
    RedisError,
    ResponseError,
)

from redisfailover.actions import (
    Accept,
    Action,
    Adjust,
    Configure,
    Failover,
    Follow,
    Link,
    Monitor,
    Promote,
    Release,
    Replace,
    Require,
    Reset,
    Tell,
)
from redisfailover.connection import Connection
from redisfailover.decision import REFUSED
from redisfailover.names import MASTER
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.passwords import judged
from redisfailover.rdb_stream import receive_snapshot
from redisfailover.replies import node_from_info, sentinel_from_master
from redisfailover.sentinel_steps import address_of, direct, tell
from redisfailover.servers import Rejected, Snapshot, Terms, Unreachable
from redisfailover.settings import WRITE_QUORUM, is_same


class RedisServers:
    """Speaks with servers and sentinels."""

    def __init__(self) -> None:
        """Know nothing yet."""
        #: How Redis writes a value that it was given, where it writes it otherwise. Found out again when lost.
        self._written: dict[tuple[str, str], str] = {}

    async def look_at(self, node: RedisNode, terms: Terms) -> RedisNode:
        """Complete what is known of a server by what it says of itself."""
        for password in dict.fromkeys((terms.password, *terms.others, terms.previous, "")):
            found = await self._look_with(node, password, terms)
            if not found.problem.startswith(REFUSED):
                return found
        return found

    async def _look_with(self, node: RedisNode, password: str, terms: Terms) -> RedisNode:
        if node.address is None:
            return node
        try:
            async with Connection.to(node.address, password) as redis:
                info = await redis.info()
                drift = await self._drift(redis, terms)
                acl = await redis.execute_command("ACL GETUSER", "default")
                link = await redis.config_get("masterauth", "masteruser", WRITE_QUORUM)
        except (AuthenticationError, AuthenticationWrongNumberOfArgsError) as error:
            return replace(node, problem=f"{REFUSED}: {error}")
        except (RedisError, OSError) as error:
            return replace(node, problem=node.problem or f"does not answer at {node.address}: {error}")
        node = replace(node, problem="", password=password, write_quorum=int(link[WRITE_QUORUM]))
        reached = judged(node, acl, link, (terms.password, terms.previous))
        return node_from_info(reached, info, drift)

    async def look_at_sentinel(self, node: SentinelNode, terms: Terms) -> SentinelNode:
        """Complete what is known of a sentinel by what it says of its master."""
        if node.address is None:
            return node
        try:
            async with Connection.to(node.address) as redis:
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
        return await terms.write("write a backup", lambda: _save(source, target, terms.password))

    async def _act(self, action: Action, terms: Terms) -> None:
        match action:
            case Promote(node):
                await tell(node, terms, "REPLICAOF", "NO", "ONE")
            case Follow(node, master):
                await tell(node, terms, "REPLICAOF", master.host, master.port)
            case Configure(node, settings):
                await self._configure(node, dict(settings), terms)
            case Accept() | Link() | Require():
                await self._change_password(action, terms)
            case Monitor() | Release() | Adjust() | Reset() | Failover() | Tell():
                await direct(action, terms)
            case Replace(node):
                raise TypeError(f"{node.pod} is a pod: replacing it is no matter of Redis")
            case _:
                assert_never(action)

    async def _change_password(self, action: Accept | Link | Require, terms: Terms) -> None:
        wanted = [f">{one}" for one in dict.fromkeys((terms.password, terms.previous)) if one]
        async with Connection.to(address_of(action.node), action.node.password, write=terms.write) as redis:
            match action:
                case Accept():
                    await redis.execute_command("ACL SETUSER", "default", *(wanted if terms.password else ["nopass"]))
                case Require():
                    await redis.execute_command("ACL SETUSER", "default", "resetpass", *wanted)
                case Link():
                    await redis.config_set("masteruser", "default" if terms.password else "")
                    await redis.config_set("masterauth", terms.password)
                case _:
                    assert_never(action)

    async def _drift(self, redis: Connection, terms: Terms) -> dict[str, str]:
        if not terms.settings:
            return {}
        have: dict[str, str] = await redis.config_get(*terms.settings)

        def differs(name: str, wanted: str) -> bool:
            # A setting that Redis does not know is found out by setting it.
            found = have.get(name)
            return found is None or not (is_same(wanted, found) or found == self._written.get((name, wanted)))

        return {name: value for name, value in terms.settings.items() if differs(name, value)}

    async def _configure(self, node: RedisNode, settings: dict[str, str], terms: Terms) -> None:
        async with Connection.to(address_of(node), node.password, write=terms.write) as redis:
            for name, value in settings.items():
                try:
                    await redis.config_set(name, value)
                except ResponseError as error:
                    raise Rejected(f"{name} {value}: {error}") from error
                written: dict[str, str] = await redis.config_get(name)
                self._written[name, value] = written.get(name, value)


async def _save(source: Address, target: Path, password: str) -> Snapshot:
    partial = target.with_suffix(".partial")
    digest, size = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            async for piece in receive_snapshot(source, password):
                size += file.write(piece)
                digest.update(piece)
    except (OSError, EOFError, ValueError) as error:
        partial.unlink(missing_ok=True)
        raise Unreachable(f"no backup of {source}: {error}") from error
    partial.replace(target)
    return Snapshot(digest.hexdigest(), size)
