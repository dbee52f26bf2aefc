"""Who may do what: the Secrets of a replica set, its users, and what they connect with.

Secrets that we make up are made once: what they hold cannot be found again.
"""

import secrets
from urllib.parse import quote

from steersman import Context, Permanent, meta
from steersman.kinds.core_v1 import Secret

from mgors.api.mgors_v1 import Mgors
from mgors.connections import Door, Member, MemberError
from mgors.objects import CLUSTER, admin_name, keyfile_name
from mgors.plan import Situation
from mgors.users import Account, commands

_KEY_BYTES = 192


async def ensure_keyfile(mgors: Mgors, ctx: Context[Mgors]) -> str:
    """Give the key by which members know each other, and us; it is made up the first time."""
    made = await _ensure(keyfile_name(mgors), {"keyfile": secrets.token_hex(_KEY_BYTES)}, mgors, ctx)
    return _text(made, "keyfile")


async def ensure_admin(mgors: Mgors, ctx: Context[Mgors]) -> Account:
    """Give the administrator: of the Secret that the object names, else one that is made up the first time."""
    name = admin_name(mgors)
    if mgors.spec.auth and mgors.spec.auth.secret_name:
        secret = await ctx.get(Secret, name)
        if secret is None:
            raise Permanent("SecretMissing", f"spec.auth.secretName: there is no Secret {name}")
    else:
        secret = await _ensure(name, {"username": "admin", "password": secrets.token_urlsafe(24)}, mgors, ctx)
    roles = frozenset({("root", "admin")})
    return Account(name=_text(secret, "username"), db="admin", password=_text(secret, "password"), roles=roles)


async def _ensure(name: str, content: dict[str, str], mgors: Mgors, ctx: Context[Mgors]) -> Secret:
    data = {key: value.encode() for key, value in content.items()}
    wanted = Secret(meta(name, labels={CLUSTER: mgors.name}), data=data)
    return await ctx.get(Secret, name) or await ctx.create(wanted)


def _text(secret: Secret, key: str) -> str:
    value = (secret.data or {}).get(key)
    if not value:
        raise Permanent("SecretIncomplete", f"the Secret {secret.name} has no {key}")
    return value.decode().strip()


async def give_access(mgors: Mgors, ctx: Context[Mgors], situation: Situation, admin: Account, door: Door) -> None:
    """Make users as the object says, and what they connect with. What is wrong with a user stops nothing else."""
    if situation.primary is None:
        return
    users, problems = await _accounts(mgors, ctx, admin)
    try:
        async with door.member(situation.primary.host) as primary:
            await _ensure_write_concern(primary)
            await _ensure_users(primary, users, door.keyfile)
    except MemberError as error:
        problems.append(str(error))
    told = ", ".join(problems)
    if ctx.condition("UsersReady", not problems, "UsersMissing" if problems else "AsAskedFor", told) and problems:
        ctx.event("UsersMissing", told, kind="Warning")
    hosts = [seat.host for seat in situation.seats if seat.is_wanted and seat.host and not seat.is_arbiter]
    await _ensure_connection_strings(mgors, ctx, hosts, users)


async def _accounts(mgors: Mgors, ctx: Context[Mgors], admin: Account) -> tuple[list[Account], list[str]]:
    """Give the users whose passwords are there, and what is missing for the others."""
    found, absent = [admin], []
    for user in mgors.spec.users or []:
        ref = user.password_secret_ref
        secret = await ctx.get(Secret, ref.name)
        password = (secret.data or {}).get(ref.key) if secret else None
        if not password:
            absent.append(f"{user.db}.{user.name} (no {ref.key} in the Secret {ref.name})")
            continue
        roles = frozenset((role.name, role.db) for role in user.roles)
        found.append(Account(name=user.name, db=user.db, password=password.decode(), roles=roles))
    return found, absent


async def _ensure_users(primary: Member, wanted: list[Account], keyfile: str) -> None:
    """Make users as they are wanted, at the primary."""
    told = await primary.mongo.admin.command({"usersInfo": {"forAllDBs": True}})
    for command in commands(wanted, told["users"], keyfile):
        await primary.order({**command.body, "writeConcern": {"w": "majority", "wtimeout": 10_000}}, command.db)


async def _ensure_write_concern(primary: Member) -> None:
    """Let writes count when a majority has them, unless somebody said otherwise: an arbiter must not lower that."""
    told = await primary.mongo.admin.command("getDefaultRWConcern")
    if told.get("defaultWriteConcernSource") != "global":
        await primary.order({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "majority", "wtimeout": 0}})


async def _ensure_connection_strings(mgors: Mgors, ctx: Context[Mgors], hosts: list[str], users: list[Account]) -> None:
    """Keep the Secret that applications connect with: one URI for each user, by ``DB.NAME``."""
    data = {f"{user.db}.{user.name}": connection_string(mgors, hosts, user).encode() for user in users}
    name = f"{mgors.name}-connection"
    secret = await ctx.get(Secret, name)
    if secret is None or secret.data != data:
        await ctx.apply(Secret(meta(name, labels={CLUSTER: mgors.name}), data=data))


def connection_string(mgors: Mgors, hosts: list[str], user: Account) -> str:
    """Give the URI of a user: all members, so that a driver finds the primary whoever that is."""
    credentials = f"{quote(user.name, safe='')}:{quote(user.password, safe='')}"
    return (
        f"mongodb://{credentials}@{','.join(hosts)}/?replicaSet={mgors.set_name}&authSource={quote(user.db, safe='')}"
    )
