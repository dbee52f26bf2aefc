"""Access to real Redis servers and sentinels with redis-py: one connection for each query and action."""

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
    AcceptPassword,
    Action,
    Configure,
    DropUsers,
    Failover,
    Follow,
    Monitor,
    Promote,
    ReplacePod,
    RequirePassword,
    Reset,
    SetSentinelOptions,
    SetSentinelPassword,
    SetUsers,
    StopMonitoring,
    UsePassword,
)
from redisfailover.connection import Connection
from redisfailover.decision import REFUSED
from redisfailover.names import MASTER
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.passwords import with_password_state
from redisfailover.rdb_stream import receive_snapshot
from redisfailover.replies import node_from_info, sentinel_from_master
from redisfailover.sentinel_commands import address_of, run_sentinel_action, send_command
from redisfailover.servers import Rejected, ServerAccess, Snapshot, Unreachable
from redisfailover.settings import WRITE_QUORUM, is_equal
from redisfailover.users import Account, parse_users


class RedisServers:
    """Queries servers and sentinels, and executes actions on them."""

    def __init__(self) -> None:
        """Create it with an empty cache."""
        #: How Redis shows a value that it was given, keyed by setting and value. A cache: it can be lost.
        self._written: dict[tuple[str, str], str] = {}
        #: How Redis shows an account that it was given, keyed by user and account. A cache as well.
        self._shown: dict[tuple[str, Account], str] = {}

    async def inspect(self, node: RedisNode, access: ServerAccess) -> RedisNode:
        """Return the server with what it reports; try each password that it may have."""
        for password in dict.fromkeys((access.password, *access.others, access.previous, "")):
            found = await self._inspect_with(node, password, access)
            if not found.problem.startswith(REFUSED):
                return found
        return found

    async def _inspect_with(self, node: RedisNode, password: str, access: ServerAccess) -> RedisNode:
        if node.address is None:
            return node
        try:
            async with Connection.to(node.address, password) as redis:
                info = await redis.info()
                drift = await self._drift(redis, access)
                acl = await redis.execute_command("ACL GETUSER", "default")
                link = await redis.config_get("masterauth", "masteruser", WRITE_QUORUM)
                users = parse_users(await redis.execute_command("ACL LIST"))
        except (AuthenticationError, AuthenticationWrongNumberOfArgsError) as error:
            return replace(node, problem=f"{REFUSED}: {error}")
        except (RedisError, OSError) as error:
            return replace(node, problem=node.problem or f"does not answer at {node.address}: {error}")
        node = replace(node, problem="", password=password, write_quorum=int(link[WRITE_QUORUM]))
        node = self._with_users(node, users, access)
        reached = with_password_state(node, acl, link, (access.password, access.previous))
        return node_from_info(reached, info, drift)

    def _with_users(self, node: RedisNode, users: dict[str, str], access: ServerAccess) -> RedisNode:
        """Return the server with the users that it must get and lose."""
        missing = [
            name
            for name, account in access.users.users.items()
            if name not in users or users[name] != self._shown.get((name, account))
        ]
        leaving = [name for name in access.users.leaving if name in users]
        return replace(node, missing_users=tuple(missing), leaving_users=tuple(leaving))

    async def inspect_sentinel(self, node: SentinelNode, access: ServerAccess) -> SentinelNode:
        """Return the sentinel with what it reports of its master."""
        if node.address is None:
            return node
        try:
            async with Connection.to(node.address) as redis:
                try:
                    master = await redis.sentinel_master(MASTER)
                except ResponseError:
                    return replace(node, answers=True)  # it monitors no master
        except (RedisError, OSError):
            return node
        return sentinel_from_master(node, master, access.options)

    async def execute(self, action: Action, access: ServerAccess) -> None:
        """Execute an action; raise `Rejected` or `Unreachable`."""
        try:
            await self._execute(action, access)
        except (RedisError, OSError) as error:
            raise Unreachable(f"{action.node.pod}: {error}") from error

    async def save(self, source: Address, target: Path, access: ServerAccess) -> Snapshot:
        """Write the data of a server to a file, completely or not at all; raise `Unreachable`."""
        return await access.write("write a backup", lambda: _save(source, target, access.password))

    async def _execute(self, action: Action, access: ServerAccess) -> None:
        match action:
            case Promote(node):
                await send_command(node, access, "REPLICAOF", "NO", "ONE")
            case Follow(node, master):
                await send_command(node, access, "REPLICAOF", master.host, master.port)
            case Configure(node, settings):
                await self._configure(node, dict(settings), access)
            case AcceptPassword() | UsePassword() | RequirePassword():
                await self._change_password(action, access)
            case SetUsers() | DropUsers():
                await self._change_users(action, access)
            case Monitor() | StopMonitoring() | SetSentinelOptions() | Reset() | Failover() | SetSentinelPassword():
                await run_sentinel_action(action, access)
            case ReplacePod(node):
                raise TypeError(f"{node.pod}: the reconciler replaces pods, not Redis")
            case _:
                assert_never(action)

    async def _change_password(
        self, action: AcceptPassword | UsePassword | RequirePassword, access: ServerAccess
    ) -> None:
        wanted = [f">{one}" for one in dict.fromkeys((access.password, access.previous)) if one]
        async with Connection.to(address_of(action.node), action.node.password, write=access.write) as redis:
            match action:
                case AcceptPassword():
                    await redis.execute_command("ACL SETUSER", "default", *(wanted if access.password else ["nopass"]))
                case RequirePassword():
                    await redis.execute_command("ACL SETUSER", "default", "resetpass", *wanted)
                case UsePassword():
                    await redis.config_set("masteruser", "default" if access.password else "")
                    await redis.config_set("masterauth", access.password)
                case _:
                    assert_never(action)

    async def _change_users(self, action: SetUsers | DropUsers, access: ServerAccess) -> None:
        """Drop users, or set them and read how the server shows them. Each is changed completely or not at all."""
        node = action.node
        if isinstance(action, DropUsers):
            await send_command(node, access, "ACL DELUSER", *node.leaving_users)
            return
        async with Connection.to(address_of(node), node.password, write=access.write) as redis:
            for name in node.missing_users:
                account = access.users.users[name]
                try:
                    await redis.execute_command("ACL SETUSER", name, *account.words)
                except ResponseError as error:
                    raise Rejected(f"the permissions of the user {name}: {error}") from error
                shown = parse_users(await redis.execute_command("ACL LIST"))
                self._shown[name, account] = shown[name]

    async def _drift(self, redis: Connection, access: ServerAccess) -> dict[str, str]:
        if not access.settings:
            return {}
        have: dict[str, str] = await redis.config_get(*access.settings)

        def differs(name: str, wanted: str) -> bool:
            # Setting an unknown name produces the error of Redis.
            found = have.get(name)
            return found is None or not (is_equal(wanted, found) or found == self._written.get((name, wanted)))

        return {name: value for name, value in access.settings.items() if differs(name, value)}

    async def _configure(self, node: RedisNode, settings: dict[str, str], access: ServerAccess) -> None:
        async with Connection.to(address_of(node), node.password, write=access.write) as redis:
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
